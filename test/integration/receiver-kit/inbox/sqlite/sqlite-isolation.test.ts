// What one handler sets, no other sees, although all use one connection and share transactions: what would stay is refused.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createReceiver, silentLogger } from "@workspace-tasks/receiver-kit";
import type { SqliteOpener, SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
import { describe, expect, it } from "vitest";
import { loadSqliteDriver } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { type Clock, systemClock } from "../../../../../sdk/kernel/clock.ts";
import { runningAt } from "../../../../support/inbox-rows.ts";
import { sqliteInbox } from "../../../../support/inbox-stores.ts";
import { interceptSqlite } from "../../../../support/intercept-sqlite.ts";
import { secretA } from "../../../../support/signed-delivery.ts";

type Use = (transaction: SqliteTransaction) => Promise<unknown>;

const tasks = Array.from({ length: 44 }, (_, n) => `task-${String(n).padStart(2, "0")}`);
const setter = tasks[21]!;

/** Handles the tasks: one with `set`, the others with `probe`, whose results are returned. Each writes an effect first. */
async function handleAll(set: Use, probe: Use) {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-isolation-"));
  const file = path.join(directory, "inbox.db");
  const opener = await loadSqliteDriver("libsql");
  const read = (statement: string) => {
    const connection = opener(file);
    const rows = connection.query(statement);
    connection.close();
    return rows;
  };
  // Writes of handlers between BEGIN and COMMIT or ROLLBACK.
  let writes = 0;
  let sharedBy = 0;
  let connections = 0;
  const driver: SqliteOpener = (name, openOptions) => {
    if (!openOptions?.isReadOnly) connections += 1;
    return interceptSqlite(opener(name, openOptions), (statement, call) => {
      if (statement.startsWith("BEGIN")) writes = 0;
      if (statement.startsWith("INSERT INTO effects")) writes += 1;
      sharedBy = Math.max(sharedBy, writes);
      return call();
    });
  };
  // No transaction ends because the machine is busy.
  const clock: Clock = { ...systemClock, monotonic: () => 0 };
  const inbox = sqliteInbox({ path: file, driver, clock });
  const dead: unknown[] = [];
  const seen = new Map<string, unknown>();
  const receiver = createReceiver({
    secrets: [secretA],
    inbox,
    concurrency: 64,
    logger: silentLogger,
    retry: { attemptsMax: 1 },
    onDead: ({ id }, error) => dead.push({ id, error }),
  });
  receiver.on("*", async (_, { id, transaction }) => {
    await transaction.query("INSERT INTO effects VALUES (?)", [id]);
    if (id === setter) await set(transaction);
    else seen.set(id, await probe(transaction));
  });
  try {
    await inbox.open();
    read("CREATE TABLE parents (id INTEGER PRIMARY KEY)");
    read("CREATE TABLE children (parent INTEGER REFERENCES parents (id))");
    read("CREATE TABLE effects (name TEXT)");
    for (const task of tasks) await inbox.insert(runningAt(task, 1, { id: task }));
    await receiver.start();
    const settled = async () => {
      const { done, dead } = (await receiver.stats()).attempts;
      return done + dead;
    };
    await expect.poll(settled).toBe(tasks.length);
    await receiver.close();
    const effects = read("SELECT name FROM effects ORDER BY name").map(({ name }) => name);
    return {
      seen: [...new Set([...seen.values()].map((each) => JSON.stringify(each)))],
      effects,
      dead,
      sharedBy,
      connections,
    };
  } finally {
    await receiver.close();
    await rm(directory, { recursive: true, force: true });
  }
}

const one =
  (statement: string): Use =>
  async (transaction) =>
    (await transaction.query(statement))[0];
const likeness = "SELECT 'a' LIKE 'A' AS seen";

describe("events that share a transaction on SQLite", () => {
  it.each([
    "PRAGMA case_sensitive_like = ON",
    "/* all */ pragma query_only = ON",
    "EXPLAIN PRAGMA case_sensitive_like = ON",
    "CREATE TEMP TABLE notes (text)",
    "create table temp.notes (text)",
    'CREATE TABLE IF NOT EXISTS "temp".notes (text)',
    "CREATE TEMPORARY VIEW notes AS SELECT 1",
    "CREATE TEMP TRIGGER double AFTER INSERT ON main.effects BEGIN INSERT INTO effects VALUES ('twice'); END",
    "ATTACH ':memory:' AS other",
    "DETACH other",
    "VACUUM",
  ])(
    "are not touched by %s of another, whose attempt fails although it catches the error",
    async (statement) => {
      let refused: unknown;
      const set: Use = async (transaction) => {
        await transaction.query(statement).catch((error: unknown) => {
          refused = error;
        });
      };
      const handled = await handleAll(set, one(likeness));
      expect(refused).toMatchObject({
        code: "ARGUMENT_INVALID",
        message: expect.stringContaining("set by the option driver of sqliteInbox"),
      });
      expect(handled.dead).toMatchObject([{ id: setter, error: refused }]);
      expect(handled.effects).toEqual(tasks.filter((task) => task !== setter));
      expect(handled).toMatchObject({ seen: [JSON.stringify({ seen: 1 })], connections: 1 });
      expect(handled.sharedBy).toBeGreaterThanOrEqual(20);
    },
  );

  it.each([
    "CREATE TABLE readings AS SELECT 1 AS temp",
    "CREATE TABLE temperature (value)",
    "SELECT * FROM pragma_table_info('effects')",
    "INSERT INTO effects SELECT 'PRAGMA' WHERE false",
  ])("may use %s", async (statement) => {
    const { effects, connections } = await handleAll(one(statement), one(likeness));
    expect({ effects, connections }).toEqual({ effects: tasks, connections: 1 });
  });

  it("do not see a savepoint that another left open", async () => {
    const rollBack: Use = (transaction) =>
      transaction.query("ROLLBACK TO mine").catch((error: Error) => error.message);
    const handled = await handleAll(one("SAVEPOINT mine"), rollBack);
    expect(handled).toMatchObject({ dead: [], effects: tasks, seen: ['"no such savepoint: mine"'] });
    expect(handled.sharedBy).toBeGreaterThanOrEqual(20);
  });
});
