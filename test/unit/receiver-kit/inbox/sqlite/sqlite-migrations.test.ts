import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { type SqliteConnection, sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { rowStates } from "../../../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../../../../receiver-kit/inbox/sqlite/sqlite-migrations.ts";
import { describeInboxMigration } from "../../../../support/inbox-migration-suite.ts";
import { claimOptions } from "../../../../support/inbox-rows.ts";

const newFile = async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-sqlite-migrations-"));
  return { file: path.join(directory, "inbox.db"), remove: () => rm(directory, { recursive: true }) };
};

describeInboxMigration("SQLite inbox", async () => {
  const { file, remove } = await newFile();
  const connection = await createVersion(4, file);
  const clock = createVirtualClock();
  return {
    clock,
    tables: {
      inbox: "workspace_tasks_inbox",
      bodies: "workspace_tasks_bodies",
      heads: "workspace_tasks_order_heads",
    },
    literal: (text) => `X'${Buffer.from(text).toString("hex")}'`,
    execute: async (statement) => connection.exec(statement),
    async open() {
      connection.close();
      const inbox = sqliteInbox({ path: file, clock });
      await inbox.open();
      return inbox;
    },
    [Symbol.asyncDispose]: remove,
  };
});

describe("the migration of a SQLite inbox from version 1", () => {
  it("keeps every row with its body, whatever its state", async () => {
    const { file, remove } = await newFile();
    await fillVersion1(file);
    const inbox = sqliteInbox({ path: file, clock: createVirtualClock(10_000) });
    await inbox.open();

    const rows = await inbox.list({});
    expect(rows.map(({ state }) => state)).toEqual(rowStates.toReversed());
    for (const { seq, id, state } of rows) {
      const row = await inbox.get({ source: "default", id });
      const body = state === "stale" ? null : Buffer.from(`body ${state}`);
      expect(row?.body && Buffer.from(row.body)).toEqual(body);
      expect(row).toMatchObject({
        ...{ seq, channel: "webhook", event: "task.running", orderKey: `key ${state}`, position: "p" },
        ...{ status: "RUNNING", timestamp: 5, receivedAtMs: 6, dueAtMs: 7, attempts: 2, replays: 1 },
        ...{ lastError: "error", bodyBytes: body?.byteLength ?? null },
      });
    }
    expect(await inbox.head("default", "key")).toMatchObject({ position: "p", status: "RUNNING" });
    expect((await inbox.readMarks("")).marks).toEqual({ "retention-time": "5" });
    const { claims } = await inbox.claim(claimOptions());
    expect(claims.map(({ id, lease }) => [id, lease.generation])).toEqual([
      ["pending", 5],
      ["running", 5],
    ]);
    expect(Buffer.from(claims[0]!.body).toString()).toBe("body pending");
    await inbox.close();
    await remove();
  });
});

async function createVersion(version: number, file: string): Promise<SqliteConnection> {
  const connection = (await loadSqliteDriver())(file);
  for (const migration of sqliteMigrations.slice(0, version)) connection.exec(migration);
  connection.exec("CREATE TABLE workspace_tasks_migrations (version INTEGER PRIMARY KEY)");
  connection.exec(`INSERT INTO workspace_tasks_migrations VALUES (${version})`);
  return connection;
}

async function fillVersion1(file: string): Promise<void> {
  const connection = await createVersion(1, file);
  connection.exec("INSERT INTO workspace_tasks_order_heads VALUES ('default', 'key', 'p', 'RUNNING', 1)");
  connection.exec("INSERT INTO workspace_tasks_beats VALUES ('default', 5)");
  for (const state of rowStates) {
    connection.query(
      `INSERT INTO workspace_tasks_inbox
         (source, webhook_id, channel, state, event, order_key, position, status, signed_at, received_at, due_at,
          lease_until, worker, generation, attempts, replays, last_error, body)
       VALUES ('default', ?1, 'webhook', ?1, 'task.running', 'key ' || ?1, 'p', 'RUNNING', 5, 6, 7, 8, 'worker', 4, 2,
         1, 'error', ?2)`,
      [state, state === "stale" ? null : Buffer.from(`body ${state}`)],
    );
  }
  connection.close();
}
