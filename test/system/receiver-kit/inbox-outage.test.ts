// While the inbox cannot store, a sender gets a 503 with Retry-After and an operator one line in the log. Afterwards the
// receiver works again without a restart.

import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import type { SqliteConnection } from "@workspace-tasks/receiver-kit/sqlite";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { postgresMigrations } from "../../../receiver-kit/inbox/postgres/postgres-schema.ts";
import { loadSqliteDriver } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../../receiver-kit/inbox/sqlite/sqlite-migrations.ts";
import { serveExpress } from "../../support/express-server.ts";
import { claimOptions, doneWith, runningAt } from "../../support/inbox-rows.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import type { PostgresServer } from "../../support/postgres.ts";
import type { LogLine } from "../../support/receiver-fixture.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { ownPostgres } from "../../support/shared-server.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { describeWithPostgres, hasPostgres, itWithPostgres } from "../../support/with-postgres.ts";

let server: PostgresServer;
let directory: string;
beforeAll(async () => {
  if (hasPostgres) server = await ownPostgres();
  directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-outage-"));
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** A receiver in an Express server, and its log. */
async function serve(inbox: InboxStore) {
  const log: LogLine[] = [];
  const note = (level: LogLine["level"]) => (fields: object, message: string) => {
    log.push({ level, message, fields });
  };
  const receiver = createReceiver({
    secrets: [secretA],
    inbox,
    pollMs: 50,
    logger: { info: note("info"), warn: note("warn"), error: note("error") },
  });
  const handled: string[] = [];
  receiver.on("*", (_, { id }) => void handled.push(id));
  const host = await serveExpress((app) => app.post("/webhooks", webhookMiddleware(receiver)));
  return {
    receiver,
    log,
    handled,
    async send(id: string, fill = 0): Promise<Response> {
      const body = JSON.stringify(sampleEvent({ note: "x".repeat(fill) }));
      const { headers } = signDelivery({ id, body, timestampSeconds: Math.floor(Date.now() / 1000) });
      return fetch(`${host.origin}/webhooks`, { method: "POST", headers, body });
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await receiver.close();
    },
  };
}

type Served = Awaited<ReturnType<typeof serve>>;

async function expectOutage(served: Served, id: string, cause: RegExp): Promise<void> {
  const response = await served.send(id);
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^[1-9][0-9]*$/);
  expect(await response.text()).not.toMatch(cause);
  const errors = served.log.filter(({ message }) => message.startsWith("the inbox cannot store deliveries"));
  expect(errors).toHaveLength(1);
  expect(errors[0]?.fields).toMatchObject({ err: { message: expect.stringMatching(cause) } });
}

async function expectRecovery(served: Served, id: string): Promise<void> {
  expect((await served.send(id)).status).toBe(200);
  while (!served.handled.includes(id)) await pause(5);
}

/** An inbox with access to its connection, so that a test can break it. */
async function sqliteWithAccess(name: string, busyTimeoutMs = 200) {
  const open = await loadSqliteDriver();
  const connections: SqliteConnection[] = [];
  const file = path.join(directory, name);
  const inbox = sqliteInbox({
    path: file,
    busyTimeoutMs,
    driver: (at, openOptions) => {
      const connection = open(at, openOptions);
      // Others are for a check, and closed after it.
      if (!openOptions?.isReadOnly) connections.push(connection);
      return connection;
    },
  });
  return { inbox, file, open, current: () => connections.at(-1)!, opened: () => connections.length };
}

describe("a receiver with a SQLite inbox", () => {
  it("a receiver on SQLite returns 503 while the disk is full, and stores again once there is room", async () => {
    const { inbox, current } = await sqliteWithAccess("full.db");
    await using served = await serve(inbox);
    await served.receiver.start();
    expect((await served.send("first")).status).toBe(200);
    current().query("PRAGMA max_page_count = 1");
    const refused = await served.send("large", 200_000);
    expect(refused.status).toBe(503);
    current().query("PRAGMA max_page_count = 1000000");
    expect(served.log.filter(({ level }) => level === "error")[0]?.fields).toMatchObject({
      err: { message: expect.stringContaining("full") },
    });
    await expectRecovery(served, "large");
  });

  it("a receiver on SQLite returns 503 while the file is read-only, and opens the file again", async () => {
    const { inbox, current, opened } = await sqliteWithAccess("readonly.db");
    await using served = await serve(inbox);
    expect((await served.send("first")).status).toBe(200);
    current().query("PRAGMA query_only = ON");
    await expectOutage(served, "second", /readonly|read-only/);
    // The broken connection was closed; a new one is not read-only.
    await served.receiver.start();
    await expectRecovery(served, "second");
    expect(opened()).toBe(2);
  });

  it("a receiver on SQLite returns 503 while another process holds a lock, and continues after it is released", async () => {
    const { inbox, file, open } = await sqliteWithAccess("locked.db");
    await using served = await serve(inbox);
    await served.receiver.start();
    expect((await served.send("first")).status).toBe(200);
    while (!served.handled.includes("first")) await pause(5);
    const other = open(file);
    other.exec("BEGIN IMMEDIATE");
    await expectOutage(served, "second", /locked/);
    other.exec("COMMIT");
    other.close();
    await expectRecovery(served, "second");
  });

  it("a receiver on SQLite fails to start while the directory is missing, and starts once it exists", async () => {
    const file = path.join(directory, "absent", "inbox.db");
    await using served = await serve(sqliteInbox(file));
    await expectOutage(served, "first", /open|unable/i);
    const made = path.join(directory, "made");
    await mkdir(made);
    await rename(made, path.dirname(file));
    await served.receiver.start();
    await expectRecovery(served, "first");
  });
});

it.each([[true], [undefined], [{}], [new Date(0)]])(
  "a query of a handler in SQLite rejects the value %s without ending the process",
  async (value) => {
    const inbox = sqliteInbox(path.join(directory, `query-${String(value)}.db`));
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1));
    const [claim] = (await inbox.claim(claimOptions())).claims;
    const transaction = inbox.begin([{ claim: claim!, settlement: doneWith(claim!) }], { timeoutMs: 60_000 });
    const query = transaction.handle.query("SELECT ?", [value as never]);
    await expect(query).rejects.toThrow("expected value 1 to be text");
    await transaction.rollback();
    await inbox.close();
  },
);

describeWithPostgres("a receiver with a PostgreSQL inbox", () => {
  it("a receiver on PostgreSQL returns 503 while the server is down, logs it once, and continues without a restart", async () => {
    await using database = await server.database();
    await using served = await serve(postgresInbox(database.pool({ connectionTimeoutMillis: 20_000 })));
    await served.receiver.start();
    expect((await served.send("first")).status).toBe(200);
    while (!served.handled.includes("first")) await pause(5);
    await server.stopImmediately();
    await expectOutage(served, "second", /ECONNREFUSED|terminat|connection/i);
    await server.resume();
    await expectRecovery(served, "second");
  });

  it("a receiver on PostgreSQL returns 503 while the server is not up yet, and opens the inbox once it is", async () => {
    await using database = await server.database();
    await server.stopImmediately();
    await using served = await serve(postgresInbox(database.pool({ connectionTimeoutMillis: 20_000 })));
    await expect(served.receiver.start()).rejects.toThrow();
    await expectOutage(served, "first", /ECONNREFUSED|connection/i);
    await server.resume();
    await served.receiver.start();
    await expectRecovery(served, "first");
  });

  it("a receiver on PostgreSQL survives a server stop with a pool that has no error listener", async () => {
    await using database = await server.database();
    const pool = new pg.Pool({ connectionString: database.url, max: 5 });
    const inbox = postgresInbox(pool);
    await using served = await serve(inbox);
    await served.receiver.start();
    await Promise.all(["a", "b", "c"].map((id) => served.send(id)));
    expect(pool.listenerCount("error")).toBe(1);
    await server.stopImmediately();
    await server.resume();
    await expectRecoveryWithoutOutage(served, "d");
    await served.receiver.close();
    // The database is dropped while connections still close.
    await pool.end();
  });
});

describe("the migrations of an inbox", () => {
  itWithPostgres(
    "migrations run once on PostgreSQL when several processes find no tables and start at the same time",
    async () => {
      await using database = await server.database();
      const pools = Array.from({ length: 6 }, () => database.pool({ max: 1 }));
      for (let turn = 0; turn < 5; turn++) {
        const schema = `turn_${turn}`;
        await Promise.all(
          pools.map((pool) => pool.query("SELECT to_regclass($1)", [`${schema}.inbox_version`])),
        );
        await Promise.all(pools.map((pool) => postgresInbox(pool, { schema }).open()));
        const { rows } = await pools[0]!.query(`SELECT version FROM ${schema}.inbox_version`);
        expect(rows).toEqual([{ version: postgresMigrations.length }]);
      }
    },
  );

  it("migrations run once on SQLite when several processes start at the same time", async () => {
    const file = path.join(directory, "migrations.db");
    const inboxes = Array.from({ length: 6 }, () => sqliteInbox(file));
    await Promise.all(inboxes.map((inbox) => inbox.open()));
    const connection = (await loadSqliteDriver())(file);
    expect(connection.query("SELECT version FROM workspace_tasks_inbox_version")).toEqual([
      { version: sqliteMigrations.length },
    ]);
    connection.close();
    for (const inbox of inboxes) await inbox.close();
  });
});

/** The outage may fall between two deliveries: then nothing was rejected, and the log has no line about its end. */
async function expectRecoveryWithoutOutage(served: Served, id: string): Promise<void> {
  for (let status = 0; status !== 200; ) status = (await served.send(id)).status;
  while (!served.handled.includes(id)) await pause(5);
}
