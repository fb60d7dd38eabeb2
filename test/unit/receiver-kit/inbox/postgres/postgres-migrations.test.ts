import type { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { rowStates } from "../../../../../receiver-kit/inbox/inbox.ts";
import { postgresMigrations } from "../../../../../receiver-kit/inbox/postgres/postgres-migrations.ts";
import { describeInboxMigration } from "../../../../support/inbox-migration-suite.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
let schemas = 0;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

describeWithPostgres("with PostgreSQL", () => {
  describeInboxMigration("PostgreSQL inbox", async () => {
    schemas += 1;
    const schema = `migrated_${schemas}`;
    const pool = database.pool();
    await createVersion(4, pool, schema);
    const clock = createVirtualClock();
    return {
      clock,
      tables: { inbox: `${schema}.inbox`, bodies: `${schema}.bodies`, heads: `${schema}.order_heads` },
      literal: (text) => `'\\x${Buffer.from(text).toString("hex")}'`,
      execute: (statement) => pool.query(statement),
      async open() {
        // The rows have numbers of their own.
        await pool.query(`SELECT setval('${schema}.inbox_seq_seq', 100)`);
        const inbox = postgresInbox(pool, { schema, clock });
        await inbox.open();
        return inbox;
      },
      [Symbol.asyncDispose]: () => pool.end(),
    };
  });

  it("an inbox with `migrate: false` names the function that the schema does not have, and opens once it has", async () => {
    const pool = database.pool();
    const schema = "functions_missing";
    const unmigrated = postgresInbox(pool, { schema, migrate: false });
    await expect(unmigrated.open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringMatching(
        /functions_missing has no function insert_rows_\w{8}: open .* migrate: true/,
      ),
    });
    const migrated = postgresInbox(pool, { schema });
    await migrated.open();
    await unmigrated.open();
    const { rows } = await pool.query(
      "SELECT proname FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY proname",
      [schema],
    );
    const names = rows.map(({ proname }) => String(proname).replace(/_\w{8}$/, ""));
    expect(names).toEqual(["claim_latest", "claim_strict", "end_rows", "insert_rows", "reset_session"]);
    // As after a release with other functions: they are created beside those of the older one.
    await pool.query(`ALTER FUNCTION ${schema}.${rows[0]?.["proname"]} RENAME TO claim_latest_older`);
    await expect(postgresInbox(pool, { schema, migrate: false }).open()).rejects.toThrow("claim_latest_");
    await postgresInbox(pool, { schema }).open();
    await postgresInbox(pool, { schema, migrate: false }).open();
    await pool.end();
  });

  it("a role that may use the schema and its tables, and create nothing, runs a receiver", async () => {
    const pool = database.pool();
    const schema = "least_privileges";
    await postgresInbox(pool, { schema }).open();
    await pool.query(`CREATE ROLE runner LOGIN; GRANT USAGE ON SCHEMA ${schema} TO runner;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO runner;
      GRANT USAGE ON SEQUENCE ${schema}.inbox_seq_seq TO runner`);
    const runners = database.pool({ user: "runner" });
    const inbox = postgresInbox(runners, { schema });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1, { id: "first" }));
    const [claim] = (await inbox.claim(claimOptions())).claims;
    expect(await inbox.begin(claim!, doneWith(claim!), { timeoutMs: 1_000 }).commit()).toBe("settled");
    await inbox.close();
    await runners.end();
    await pool.end();
  });

  it("the schema of an inbox may have the name of a reserved word", async () => {
    const pool = database.pool();
    const schema = "select";
    await postgresInbox(pool, { schema }).open();
    const inbox = postgresInbox(pool, { schema, migrate: false });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1, { id: "first" }));
    const [claim] = (await inbox.claim(claimOptions())).claims;
    expect(await inbox.begin(claim!, doneWith(claim!), { timeoutMs: 1_000 }).commit()).toBe("settled");
    await inbox.close();
    await pool.end();
  });

  it("the migration from version 1 keeps every row with its body, whatever its state", async () => {
    const pool = database.pool();
    await fillVersion1(pool, "version_1");
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

async function createVersion(version: number, pool: Pool, schema: string): Promise<void> {
  await pool.query(`CREATE SCHEMA ${schema}`);
  for (const migration of postgresMigrations.slice(0, version)) await pool.query(migration(schema));
  await pool.query(`CREATE TABLE ${schema}.migrations (version integer PRIMARY KEY)`);
  await pool.query(`INSERT INTO ${schema}.migrations VALUES (${version})`);
}

async function fillVersion1(pool: Pool, schema: string): Promise<void> {
  await createVersion(1, pool, schema);
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
