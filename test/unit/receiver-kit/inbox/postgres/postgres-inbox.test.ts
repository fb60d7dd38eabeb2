import type { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { type PostgresTransaction, postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { rowStates } from "../../../../../receiver-kit/inbox/inbox.ts";
import { postgresMigrations } from "../../../../../receiver-kit/inbox/postgres/postgres-migrations.ts";
import { describeInboxMaintenance } from "../../../../support/inbox-maintenance-suite.ts";
import { claimOptions } from "../../../../support/inbox-rows.ts";
import { describeInbox, type InboxFixture } from "../../../../support/inbox-suite.ts";
import { describeWithPostgres } from "../../../../support/machine.ts";
import { type PostgresDatabase, PostgresServer } from "../../../../support/postgres.ts";
import {
  beginTransaction,
  describeSqlTransactions,
  expectUndone,
} from "../../../../support/sql-transaction-suite.ts";

let server: PostgresServer;
let database: PostgresDatabase;
let schemas = 0;

beforeAll(async () => {
  server = await PostgresServer.start();
  database = await server.database();
});
afterAll(() => server[Symbol.asyncDispose]());

const createFixture = async (): Promise<InboxFixture & { readonly pool: Pool }> => {
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
    pool,
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

describeWithPostgres("with PostgreSQL", () => {
  describeInbox("PostgreSQL inbox", createFixture);
  describeInboxMaintenance("PostgreSQL inbox", createFixture);
  describeSqlTransactions("PostgreSQL inbox", createFixture);

  it("a handler's statement that contains COMMIT after another statement is not executed", async () => {
    await using fixture = await createFixture();
    const begun = await beginTransaction(fixture);
    await fixture.effects.write(begun.transaction.handle, "before");
    const statement = "SELECT 1; COMMIT";
    await expect(begun.transaction.handle.query(statement)).rejects.toThrow("multiple commands");
    await expect(begun.transaction.commit()).rejects.toThrow("current transaction is aborted");
    await begun.transaction.rollback();
    expect(await fixture.effects.kept()).toEqual([]);
  });

  it("a handler's client rejects COMMIT in each form that it takes, and passes other statements on", async () => {
    await using fixture = await createFixture();
    const begun = await beginTransaction(fixture);
    const client = await (begun.transaction.handle as PostgresTransaction).client();
    const rejected = { code: "TRANSACTION_ENDED_BY_SQL" };
    expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await expect(client.query("COMMIT")).rejects.toMatchObject(rejected);
    await expect(client.query({ text: "COMMIT", queryMode: "extended" })).rejects.toMatchObject(rejected);
    const error = await new Promise((resolve) => client.query("COMMIT", resolve as never));
    expect(error).toMatchObject(rejected);
    await expectUndone(fixture, begun);
  });

  it("a handler's client rejects queries after the end of its transaction, when it belongs to another one", async () => {
    await using fixture = await createFixture();
    const { transaction } = await beginTransaction(fixture);
    const client = await (transaction.handle as PostgresTransaction).client();
    expect(await transaction.commit()).toBe("settled");
    await expect(client.query("SELECT 1")).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
  });

  it.each([["COMMIT"], ["COMMIT; BEGIN"]])(
    "a transaction that %j ended on the pool's own client executes and settles nothing more",
    async (statements) => {
      await using fixture = await createFixture();
      const { newRow, transaction } = await beginTransaction(fixture);
      const clients: { query(text: string): Promise<unknown> }[] = [];
      fixture.pool.on("acquire", (client) => clients.push(client));
      await fixture.effects.write(transaction.handle, "before");
      await clients.at(-1)!.query(statements);
      await fixture.effects.write(transaction.handle, "after").catch(() => {});
      await expect(transaction.commit()).rejects.toMatchObject({ code: "TRANSACTION_ENDED_BY_SQL" });
      await transaction.rollback();
      expect(await fixture.effects.kept()).toEqual(["before"]);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "running" });
    },
  );

  it("the migration of a PostgreSQL inbox from version 1 keeps every row with its body, whatever its state", async () => {
    const pool = database.pool();
    await createVersion1(pool, "version_1");
    const inbox = postgresInbox(pool, { schema: "version_1", clock: createVirtualClock(10_000) });
    await inbox.open();

    const rows = await inbox.list({});
    expect(rows.map(({ state }) => state)).toEqual(rowStates.toReversed());
    for (const { seq, id, state } of rows) {
      const row = await inbox.get({ source: "default", id });
      const body = state === "stale" ? null : Buffer.from(`body ${state}`);
      expect(row?.body ?? null).toEqual(body);
      expect(row).toMatchObject({
        ...{ seq, channel: "webhook", event: "task.running", orderKey: `key ${state}`, position: "p" },
        ...{ status: "RUNNING", timestamp: 5, receivedAtMs: 6, dueAtMs: 7, attempts: 2, replays: 1 },
        ...{ lastError: "error", bodyBytes: body?.byteLength ?? null },
      });
    }
    expect(await inbox.head("default", '["task-1"]')).toMatchObject({ position: "1.0.a", status: "RUNNING" });
    expect((await inbox.readMarks("")).marks).toEqual({ "retention-time": "5" });
    const { claims } = await inbox.claim(claimOptions());
    expect(claims.map(({ id, body }) => [id, Buffer.from(body).toString()])).toEqual([
      ["pending", "body pending"],
      ["running", "body running"],
    ]);
    await inbox.close();
  });
});

async function createVersion1(pool: Pool, schema: string): Promise<void> {
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(postgresMigrations[0]!(schema));
  await pool.query(`CREATE TABLE ${schema}.migrations (version integer PRIMARY KEY)`);
  await pool.query(`INSERT INTO ${schema}.migrations VALUES (1)`);
  await pool.query(
    `INSERT INTO ${schema}.order_heads VALUES ('default', '["task-1"]', '1.0.a', 'RUNNING', 4);
     INSERT INTO ${schema}.beats VALUES ('default', 5)`,
  );
  for (const state of rowStates) {
    await pool.query(
      `INSERT INTO ${schema}.inbox
         (source, webhook_id, channel, state, event, order_key, position, status, signed_at, received_at, due_at,
          lease_until, worker, generation, attempts, replays, last_error, body)
       VALUES ('default', $1, 'webhook', $1, 'task.running', 'key ' || $1, 'p', 'RUNNING', 5, 6, 7, 8, 'worker', 4, 2,
         1, 'error', $2)`,
      [state, state === "stale" ? null : Buffer.from(`body ${state}`)],
    );
  }
}
