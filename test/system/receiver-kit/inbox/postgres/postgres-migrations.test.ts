import { type AddressInfo, createServer, type Socket } from "node:net";
import pg, { type Pool } from "pg";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { describeSchemaVersions } from "../../../../support/schema-version-suite.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
let schemas = 0;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

async function expectToSettle(inbox: ReturnType<typeof postgresInbox>): Promise<void> {
  await inbox.open();
  await inbox.insert(runningAt("task-1", 1, { id: "first" }));
  const [claim] = (await inbox.claim(claimOptions())).claims;
  expect(
    await inbox.begin([{ claim: claim!, settlement: doneWith(claim!) }], { timeoutMs: 1_000 }).commit(),
  ).toBe("settled");
  await inbox.close();
}

describeWithPostgres("with PostgreSQL", () => {
  describeSchemaVersions("PostgreSQL inbox", async () => {
    schemas += 1;
    const schema = `versions_${schemas}`;
    const pool = database.pool();
    return {
      table: (name) => `${schema}.${name}`,
      execute: async (statement) => (await pool.query(statement)).rows,
      async open() {
        const inbox = postgresInbox(pool, { schema });
        await inbox.open();
        return inbox;
      },
      [Symbol.asyncDispose]: () => pool.end(),
    };
  });

  it("an inbox says what to do when no server listens, or it does not let the role in", async () => {
    const pool = new pg.Pool({
      connectionString: "postgres://127.0.0.1:1/none",
      connectionTimeoutMillis: 5_000,
    });
    onTestFinished(() => pool.end());
    const noServer = postgresInbox(pool).open();
    await expect(noServer).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringMatching(/^postgres inbox: it cannot be opened: .*ECONNREFUSED .*DATABASE_URL/),
      cause: { cause: { code: "ECONNREFUSED" } },
    });
    const url = new URL(database.url);
    url.pathname = "/no_such_database";
    const other = new pg.Pool({ connectionString: url.href });
    onTestFinished(() => other.end());
    await expect(postgresInbox(other).open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      cause: { cause: { code: "3D000" } },
    });
  });

  it("an inbox says what to do when its role only reads", async () => {
    const pool = database.pool({ options: "-c default_transaction_read_only=on" });
    await expect(postgresInbox(pool, { schema: "only_read" }).open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringMatching(
        /cannot be opened: the connection only reads: .*default_transaction_read_only .*primary/,
      ),
    });
    await pool.end();
  });

  it("an inbox with `migrate: false` says that the schema is missing, and opens once it has been created", async () => {
    const pool = database.pool();
    const schema = "not_migrated";
    const unmigrated = postgresInbox(pool, { schema, migrate: false });
    await expect(unmigrated.open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringMatching(/the schema not_migrated is not of this release: open .* migrate: true/),
    });
    await postgresInbox(pool, { schema }).open();
    await unmigrated.open();
    const { rows } = await pool.query("SELECT 1 FROM pg_proc WHERE pronamespace = $1::regnamespace", [
      schema,
    ]);
    expect(rows).toEqual([]);
    await pool.end();
  });

  it.each([
    [
      "the schema",
      "CREATE SCHEMA prepared AUTHORIZATION attacker",
      "the schema prepared belongs to another role than victim",
    ],
    [
      "a table in its schema",
      `CREATE SCHEMA prepared AUTHORIZATION victim; GRANT ALL ON SCHEMA prepared TO attacker; SET ROLE attacker;
       CREATE TABLE prepared.deliveries (seq bigint); RESET ROLE`,
      "prepared.deliveries belongs to attacker",
    ],
  ])("an inbox uses nothing that another role has prepared: %s", async (_, prepare, message) => {
    const own = await (await sharedPostgres()).database();
    const admin = own.pool();
    const name = new URL(own.url).pathname.slice(1);
    for (const role of ["attacker", "victim"]) {
      await admin.query(
        `DO $$ BEGIN CREATE ROLE ${role} LOGIN PASSWORD 'app'; EXCEPTION WHEN duplicate_object THEN END $$`,
      );
    }
    await admin.query(`GRANT CREATE ON DATABASE ${name} TO victim; ${prepare}`);
    const pool = own.pool({ connectionString: own.url.replace("postgres:postgres@", "victim:app@") });
    await expect(postgresInbox(pool, { schema: "prepared" }).open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringContaining(message),
    });
    const control = postgresInbox(pool, { schema: "mine" });
    await control.open();
    await control.close();
    await pool.end();
    await admin.end();
    await own[Symbol.asyncDispose]();
  });

  it.each([
    ["closes at once", (socket: Socket) => void socket.destroy(), /connection/i],
    ["is silent", () => {}, /available within/],
    ["is something else", (socket: Socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"), /./],
  ])("an inbox says so when a server %s", async (_, respond, message) => {
    const other = createServer((socket) => {
      socket.on("error", () => {});
      respond(socket);
    });
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const pool = new pg.Pool({ connectionString: `postgres://127.0.0.1:${port}/none` });
    pool.on("error", () => {});
    const opened = postgresInbox(pool, { queryTimeoutMs: 1_000 }).open();
    await expect(opened).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringMatching(/it cannot be opened: .*; check that PostgreSQL runs/),
      cause: { message: expect.stringMatching(message) },
    });
    other.close();
  });

  it.each([
    ["disk space", "53100", /the server's disk is full/],
    ["connections", "53300", /raise max_connections/],
  ])("an inbox says what to do when a server has run out of %s", async (_, code, advice) => {
    const fields = `SFATAL\0C${code}\0Mout of it\0\0`;
    const length = Buffer.alloc(4);
    length.writeInt32BE(length.length + fields.length);
    const other = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(Buffer.concat([Buffer.from("E"), length, Buffer.from(fields)])));
    });
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const pool = new pg.Pool({ connectionString: `postgres://127.0.0.1:${port}/none` });
    pool.on("error", () => {});
    await expect(postgresInbox(pool).open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringMatching(advice),
    });
    other.close();
  });

  it("a role that may use the schema and its tables, and create nothing, runs a receiver, and another role learns which privilege it lacks", async () => {
    const pool = database.pool();
    const schema = "least_privileges";
    await postgresInbox(pool, { schema }).open();
    await pool.query(`CREATE ROLE runner LOGIN PASSWORD 'app'; CREATE ROLE stranger LOGIN PASSWORD 'app'; GRANT USAGE ON SCHEMA ${schema} TO runner;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO runner;
      GRANT USAGE ON SEQUENCE ${schema}.row_numbers TO runner`);
    const poolOf = (role: string) =>
      database.pool({ connectionString: database.url.replace("postgres:postgres@", `${role}:app@`) });
    const runners = poolOf("runner");
    await expectToSettle(postgresInbox(runners, { schema, migrate: false }));
    await runners.end();
    const strangers = poolOf("stranger");
    const opened = postgresInbox(strangers, { schema, migrate: false }).open();
    await expect(opened).rejects.toThrow(`permission denied for schema ${schema}`);
    await strangers.end();
    await pool.end();
  });

  it("the schema of an inbox may have the name of a reserved word", async () => {
    const pool = database.pool();
    const schema = "select";
    await postgresInbox(pool, { schema }).open();
    await expectToSettle(postgresInbox(pool, { schema, migrate: false }));
    await pool.end();
  });

  it("a delivery that waits for a migration is not stored when that excludes its release", async () => {
    await using migration = await beginMigration("excluded");
    const { pool, inbox, migrating } = migration;
    await migrating.query("UPDATE excluded.inbox_version SET oldest_usable = 2, oldest_release = '7.1.0'");
    const stored = expect(inbox.insert(runningAt("task-1", 1))).rejects.toMatchObject({
      code: "RELEASE_TOO_OLD",
    });
    await waitForLocks(pool, 1);
    await migrating.query("COMMIT");
    await stored;
    expect((await pool.query("SELECT 1 FROM excluded.deliveries")).rows).toEqual([]);
  });

  it("a delivery that waits for a migration is stored when that permits its release", async () => {
    await using migration = await beginMigration("permitted");
    const { pool, inbox, migrating } = migration;
    await migrating.query("ALTER TABLE permitted.deliveries ADD COLUMN added text");
    await migrating.query("UPDATE permitted.inbox_version SET version = 2");
    const stored = inbox.insert(runningAt("task-1", 1));
    await waitForLocks(pool, 1);
    await migrating.query("COMMIT");
    expect(await stored).toEqual({ outcome: "new" });
  });

  it("a migration that waits for a transaction which waits for it is repeated", async () => {
    const pool = database.pool();
    const schema = "deadlock";
    await postgresInbox(pool, { schema }).open();
    // As when the schema has another table, and no version yet.
    await pool.query(`DELETE FROM ${schema}.inbox_version; DROP TABLE ${schema}.queue, ${schema}.marks, ${schema}.bodies;
      DROP TABLE ${schema}.deliveries, ${schema}.ordering_keys; DROP SEQUENCE ${schema}.row_numbers`);
    const holder = await pool.connect();
    await holder.query(`BEGIN; LOCK TABLE ${schema}.inbox_version IN ACCESS SHARE MODE`);
    const inbox = postgresInbox(pool, { schema });
    const opened = inbox.open();
    await waitForLocks(pool, 1);
    // The migration gives up its wait, and tries again.
    await waitForLocks(pool, 0);
    await holder.query("ROLLBACK");
    holder.release();
    await opened;
    expect((await pool.query(`SELECT version FROM ${schema}.inbox_version`)).rows).toEqual([{ version: 1 }]);
    await inbox.close();
    await pool.end();
  });
});

/** A schema whose version another session is changing. */
async function beginMigration(schema: string) {
  const pool = database.pool();
  const inbox = postgresInbox(pool, { schema });
  await inbox.open();
  const migrating = await pool.connect();
  await migrating.query(`BEGIN; TRUNCATE ${schema}.inbox_version;
    INSERT INTO ${schema}.inbox_version VALUES (1, 1, '0.1.0')`);
  return {
    pool,
    inbox,
    migrating,
    async [Symbol.asyncDispose]() {
      migrating.release(true);
      await inbox.close();
      await pool.end();
    },
  };
}

/** Until so many sessions of this database wait for the lock of a table. */
async function waitForLocks(pool: Pool, count: number): Promise<void> {
  for (let found = -1; found !== count; ) {
    const { rows } = await pool.query(
      `SELECT count(*)::integer AS count FROM pg_locks
       WHERE NOT granted AND locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    found = rows[0]?.count;
  }
}
