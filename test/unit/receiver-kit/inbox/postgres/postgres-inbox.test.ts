import { afterAll, beforeAll } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { type PostgresTransaction, postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { describeInbox, type InboxFixture } from "../../../../support/inbox-suite.ts";
import { describeWithPostgres } from "../../../../support/machine.ts";
import { type PostgresDatabase, PostgresServer } from "../../../../support/postgres.ts";

let server: PostgresServer;
let database: PostgresDatabase;
let schemas = 0;

beforeAll(async () => {
  server = await PostgresServer.start();
  database = await server.database();
});
afterAll(() => server[Symbol.asyncDispose]());

const createFixture = async (): Promise<InboxFixture> => {
  schemas += 1;
  const schema = `inbox_${schemas}`;
  const clock = createVirtualClock();
  const pool = database.pool();
  const open = async () => {
    const inbox = postgresInbox(pool, { schema, clock });
    await inbox.open();
    return inbox;
  };
  const inbox = await open();
  await pool.query(`CREATE TABLE ${schema}.effects (id serial, name text)`);
  return {
    inbox,
    clock,
    reopen: open,
    effects: {
      async write(transaction, name) {
        await (transaction as PostgresTransaction).query(`INSERT INTO ${schema}.effects (name) VALUES ($1)`, [
          name,
        ]);
      },
      async kept() {
        const { rows } = await pool.query(`SELECT name FROM ${schema}.effects ORDER BY id`);
        return rows.map((row) => String(row["name"]));
      },
    },
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await pool.end();
    },
  };
};

describeWithPostgres("with PostgreSQL", () => describeInbox("PostgreSQL inbox", createFixture));
