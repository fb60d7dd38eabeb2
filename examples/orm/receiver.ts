import { createReceiver } from "@workspace-tasks/receiver-kit";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import pg from "pg";

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: 14,
  connectionTimeoutMillis: 5_000,
});
export const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
  inbox: postgresInbox(pool),
});
