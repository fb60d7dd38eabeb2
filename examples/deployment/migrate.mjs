// Creates or updates the tables of the inbox; run it once for each release, before the servers.

// #region migrate
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 5_000 });
const inbox = postgresInbox(pool);
try {
  await inbox.open();
  console.log("the tables of the inbox are up to date");
} catch ({ message }) {
  console.error(`cannot migrate: ${message}`);
  process.exitCode = 1;
}
await inbox.close();
await pool.end();
// #endregion
