// What one handler sets, no other sees, although all use one connection and share transactions.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createReceiver, silentLogger } from "@workspace-tasks/receiver-kit";
import type { SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
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
  const driver = (name: string) => {
    connections += 1;
    return interceptSqlite(opener(name), (statement, call) => {
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
    ...{ secrets: [secretA], inbox, concurrency: 64, logger: silentLogger, retry: { attemptsMax: 1 } },
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
      const { rows } = (await receiver.stats()).inbox;
      return rows.done + rows.dead;
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
const native =
  (statement: string): Use =>
  async (transaction) => {
    const connection = (await transaction.connection()) as { exec(statement: string): void };
    connection.exec(statement);
  };

const likeness = "SELECT 'a' LIKE 'A' AS seen";
const temporary = "SELECT count(*) AS seen FROM temp.sqlite_master";
const attached = "SELECT count(*) AS seen FROM pragma_database_list WHERE name = 'other'";
const setting = (name: string) => `SELECT ${name} AS seen FROM pragma_${name}`;

describe("events that share a transaction on SQLite do not see", () => {
  it.each<[string, string, string, unknown]>([
    ["a pragma that cannot be read", "PRAGMA case_sensitive_like = ON", likeness, 1],
    ["a pragma", "PRAGMA recursive_triggers = ON", setting("recursive_triggers"), 0],
    ["a pragma of the transaction", "PRAGMA defer_foreign_keys = ON", setting("defer_foreign_keys"), 0],
    ["a pragma after EXPLAIN", "EXPLAIN PRAGMA case_sensitive_like = ON", likeness, 1],
    ["a temporary table", "CREATE TEMP TABLE notes (text)", temporary, 0],
    ["a table in the schema temp", "create table temp.notes (text)", temporary, 0],
    ["a temporary view", "CREATE TEMPORARY VIEW notes AS SELECT 1", temporary, 0],
    [
      "a temporary trigger",
      "CREATE TEMP TRIGGER double AFTER INSERT ON main.effects BEGIN INSERT INTO effects VALUES ('twice'); END",
      temporary,
      0,
    ],
    ["an attached file", "ATTACH ':memory:' AS other", attached, 0],
  ])("%s of another: %s", async (_, set, probe, seen) => {
    for (const use of [one(set), native(set)]) {
      const handled = await handleAll(use, one(probe));
      expect(handled).toMatchObject({ dead: [], effects: tasks, seen: [JSON.stringify({ seen })] });
      expect(handled.sharedBy).toBeGreaterThanOrEqual(20);
      expect(handled.connections).toBeGreaterThan(1);
    }
  });

  it("a pragma that forbids writing, of which the event itself is dead", async () => {
    const { dead, effects, sharedBy } = await handleAll(one("PRAGMA query_only = ON"), async () => {});
    expect(dead).toMatchObject([{ id: setter }]);
    expect(effects).toEqual(tasks.filter((task) => task !== setter));
    expect(sharedBy).toBeGreaterThanOrEqual(20);
  });

  it("a savepoint that another left open", async () => {
    const rollBack: Use = (transaction) =>
      transaction.query("ROLLBACK TO mine").catch((error: Error) => error.message);
    const handled = await handleAll(one("SAVEPOINT mine"), rollBack);
    expect(handled).toMatchObject({ dead: [], effects: tasks, seen: ['"no such savepoint: mine"'] });
    expect(handled.sharedBy).toBeGreaterThanOrEqual(20);
  });

  it("anything of a handler that sets nothing: the connection is kept, and so it is after the driver's own was used", async () => {
    const harmless = native("INSERT INTO parents VALUES (1)");
    for (const set of [one("SELECT 1"), one("CREATE TABLE more (id)"), harmless]) {
      const { connections, effects, sharedBy } = await handleAll(set, one(likeness));
      expect({ connections, effects }).toEqual({ connections: 1, effects: tasks });
      expect(sharedBy).toBeGreaterThanOrEqual(20);
    }
  });
});
