import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import type { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeCrashes, describeInbox } from "../../../../support/inbox-contract/describe-inbox.ts";
import type { CrashFixture } from "../../../../support/inbox-contract/inbox-fixture.ts";
import { claimOptions, runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import { wrongTables } from "../../../../support/inbox-tables.ts";
import type { PostgresDatabase, PostgresServer } from "../../../../support/postgres.ts";
import { ownPostgres } from "../../../../support/shared-server.ts";
import {
  beginTransaction,
  describeNestedTransactions,
  describeSqlTransactions,
  expectUndone,
} from "../../../../support/sql-transaction-suite.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let server: PostgresServer;
let database: PostgresDatabase;
/** One for all tests: each new connection would plan every statement again. */
let pool: Pool;

beforeAll(async () => {
  server = await ownPostgres();
  // By default a deadlock is found after a second, and mostly resolved by then.
  database = await server.database({ deadlock_timeout: "10ms" });
  pool = database.pool();
  await postgresInbox(pool, { schema }).open();
  await pool.query(`CREATE TABLE ${schema}.effects (id serial, name text)`);
});
afterAll(async () => {
  await pool.end();
  await server[Symbol.asyncDispose]();
});

const schema = "inbox";

/** As after a first open, in a fraction of its time. */
async function empty(pool: Pool): Promise<void> {
  const { rows } = await pool.query(
    "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> 'inbox_version'",
    [schema],
  );
  // TRUNCATE would write new files.
  const statements = rows.map(({ tablename }) => `DELETE FROM ${schema}.${tablename}`);
  await pool.query(`${statements.join("; ")}; ALTER SEQUENCE ${schema}.row_numbers RESTART`);
}

const createFixture = async (): Promise<CrashFixture & { readonly pool: Pool }> => {
  const clock = createVirtualClock();
  await empty(pool);
  const open = async () => {
    const inbox = postgresInbox(pool, { schema, clock });
    await inbox.open();
    return inbox;
  };
  const inbox = await open();
  return {
    pool,
    inbox,
    clock,
    reopen: open,
    async crash() {
      await server.stopImmediately();
      await server.resume();
      return open();
    },
    contradictions: () =>
      wrongTables(async (statement) => (await pool.query(statement)).rows, {
        database: "postgres",
        schema,
        nowMs: clock.now(),
      }),
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
    },
  };
};

describeWithPostgres("with PostgreSQL", () => {
  describeInbox("PostgreSQL inbox", createFixture);
  describeCrashes("PostgreSQL inbox", createFixture);
  describeSqlTransactions("PostgreSQL inbox", createFixture);
  describeNestedTransactions("PostgreSQL inbox", createFixture, async (handle) => {
    const client = await (handle as PostgresTransaction).client();
    return (statement) => client.query(statement);
  });

  it("a handler's statement that contains COMMIT after another statement is not executed", async () => {
    await using fixture = await createFixture();
    const begun = await beginTransaction(fixture);
    await fixture.effects.write(begun.transaction.handle, "before");
    const statement = "SELECT 1; COMMIT";
    await expect(begun.transaction.handle.query(statement)).rejects.toThrow("multiple commands");
    await expect(begun.transaction.commit()).rejects.toMatchObject({ code: "TRANSACTION_ABORTED" });
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
    await expectUndone(fixture, begun);
  });

  it.each([
    ["a full disk", "53100", "lost"],
    ["no memory", "53200", "lost"],
    ["a conflict", "40001", "conflict"],
    ["a mistake", "22000", undefined],
  ])(
    "a handler's statement that ends with %s, %s, is a fault of the event only if that was its own",
    async (...[, code, fault]) => {
      await using fixture = await createFixture();
      const { transaction } = await beginTransaction(fixture);
      const raise = `DO $$ BEGIN RAISE SQLSTATE '${code}'; END $$`;
      await expect(transaction.handle.query(raise)).rejects.toMatchObject({ code });
      expect(transaction.fault).toBe(fault);
      await transaction.rollback();
    },
  );

  it("a transaction within that of the event whose error was caught cannot be kept, but rolled back", async () => {
    await using fixture = await createFixture();
    const { transaction } = await beginTransaction(fixture);
    const client = await (transaction.handle as PostgresTransaction).client();
    await fixture.effects.write(transaction.handle, "before");
    await client.query("START TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE");
    await fixture.effects.write(transaction.handle, "undone");
    await expect(client.query("SELECT * FROM missing")).rejects.toThrow("missing");
    await expect(client.query("COMMIT")).rejects.toMatchObject({ code: "TRANSACTION_ABORTED" });
    await client.query("ABORT");
    expect(await transaction.commit()).toBe("settled");
    expect(await fixture.effects.kept()).toEqual(["before"]);
  });

  it.each([["SELECT 1; COMMIT"], ["SELECT 1; COMMIT; BEGIN"]])(
    "a transaction that %j ended on its client executes and settles nothing more",
    async (statements) => {
      await using fixture = await createFixture();
      const { newRow, transaction } = await beginTransaction(fixture);
      const { handle } = transaction as unknown as { handle: PostgresTransaction };
      await fixture.effects.write(handle, "before");
      await (await handle.client()).query(statements);
      await fixture.effects.write(handle, "after").catch(() => {});
      await expect(transaction.commit()).rejects.toMatchObject({ code: "TRANSACTION_ENDED_BY_SQL" });
      await transaction.rollback();
      expect(await fixture.effects.kept()).toEqual(["before"]);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "running" });
    },
  );

  it.each(["LATIN1", "SQL_ASCII"])("stores any text in a database of encoding %s", async (encoding) => {
    const name = `of_${encoding.toLowerCase()}`;
    await pool.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`,
    );
    const own = database.pool({ connectionString: server.url(name) });
    const inbox = postgresInbox(own);
    await inbox.open();
    expect(await inbox.insert(runningAt("日本", 1))).toEqual({ outcome: "new" });
    expect(await inbox.insert(runningAt("é", 1))).toEqual({ outcome: "new" });
    const { claims } = await inbox.claim(claimOptions());
    expect(claims.map(({ body }) => JSON.parse(String(body)).taskId)).toEqual(["日本", "é"]);
    for (const claim of claims) expect(await inbox.fail(claim, { kind: "dead", error: "日本" })).toBe(true);
    await inbox.close();
    await own.end();
  });

  it("loses no row when the database has synchronous_commit off, which loses other rows", async () => {
    await using own = await server.database();
    const name = new URL(own.url).pathname.slice(1);
    const setting = own.pool({ max: 1 });
    await setting.query("CREATE TABLE plain (id text)");
    await setting.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
    await setting.query("ALTER SYSTEM SET wal_writer_delay = '10s'");
    await setting.query("SELECT pg_reload_conf()");
    const pool = own.pool();
    const inbox = postgresInbox(pool);
    await inbox.open();
    const rows = Array.from({ length: 40 }, (_, n) => runningAt(`task-${n}`, n, { id: `kept-${n}` }));
    await Promise.all(rows.map((row) => inbox.insert(row)));
    for (let n = 0; n < 40; n++) await pool.query("INSERT INTO plain VALUES ('plain')");
    await server.stopImmediately();
    await server.resume();
    expect((await pool.query("SELECT * FROM plain")).rows.length).toBeLessThan(40);
    expect(await inbox.list({ limit: 100 })).toHaveLength(40);
    await pool.query("ALTER SYSTEM RESET wal_writer_delay");
    await inbox.close();
  });
});
