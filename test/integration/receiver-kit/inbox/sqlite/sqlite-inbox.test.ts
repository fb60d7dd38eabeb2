import { copyFileSync, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
import { describe, expect, it } from "vitest";
import {
  loadSqliteDriver,
  type SqliteDriverName,
  sqliteDriverNames,
} from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { describeCrashes, describeInbox } from "../../../../support/inbox-contract/describe-inbox.ts";
import type { CrashFixture } from "../../../../support/inbox-contract/inbox-fixture.ts";
import { runningAt } from "../../../../support/inbox-rows.ts";
import { sqliteInbox } from "../../../../support/inbox-stores.ts";
import { wrongTables } from "../../../../support/inbox-tables.ts";
import {
  beginTransaction,
  describeNestedTransactions,
  describeSqlTransactions,
  expectUndone,
} from "../../../../support/sql-transaction-suite.ts";

const createFixture = async (driver: SqliteDriverName = "libsql"): Promise<CrashFixture> => {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-sqlite-"));
  const clock = createVirtualClock();
  let file = path.join(directory, "inbox.db");
  const opened: { close(): Promise<void> }[] = [];
  const open = async () => {
    const inbox = sqliteInbox({ path: file, driver, clock });
    await inbox.open();
    opened.push(inbox);
    return inbox;
  };
  const inbox = await open();
  const createTable = "CREATE TABLE IF NOT EXISTS effects (name TEXT)";
  return {
    inbox,
    clock,
    reopen: open,
    /** Continues on the files as they are; the handles before it write to those that it leaves. */
    async crash() {
      const copy = path.join(directory, `copy-${opened.length}.db`);
      for (const end of ["", "-wal"]) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
      file = copy;
      return open();
    },
    async contradictions() {
      const connection = (await loadSqliteDriver(driver))(file);
      const options = { database: "sqlite" as const, nowMs: clock.now() };
      const faults = await wrongTables(async (statement) => connection.query(statement), options);
      connection.close();
      return faults;
    },
    effects: {
      async write(transaction, name) {
        const { query } = transaction as SqliteTransaction;
        await query(createTable);
        await query("INSERT INTO effects (name) VALUES (?)", [name]);
      },
      async kept() {
        const connection = (await loadSqliteDriver(driver))(file);
        connection.exec(createTable);
        const rows = connection.query("SELECT name FROM effects ORDER BY rowid");
        connection.close();
        return rows.map((row) => String(row["name"]));
      },
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

/** The drivers of this machine: libsql everywhere, node:sqlite on newer versions of Node. */
async function installedDrivers(): Promise<readonly SqliteDriverName[]> {
  const loaded = await Promise.allSettled(sqliteDriverNames.map((name) => loadSqliteDriver(name)));
  return sqliteDriverNames.filter((_, index) => loaded[index]?.status === "fulfilled");
}

describe.each(await installedDrivers())("with %s", (driver) => {
  const create = () => createFixture(driver);
  describeInbox("SQLite inbox", create);
  describeCrashes("SQLite inbox", create);
  describeSqlTransactions("SQLite inbox", create);
  describeNestedTransactions("SQLite inbox, exec", create, async (handle) => {
    const native = await nativeOf(handle);
    return (statement) => native.exec(statement);
  });
  describeNestedTransactions("SQLite inbox, prepare", create, async (handle) => {
    const native = await nativeOf(handle);
    return (statement) => {
      const prepared = native.prepare(statement);
      return statement.startsWith("SELECT") ? prepared.all() : prepared.run();
    };
  });
});

interface Native {
  exec(text: string): unknown;
  prepare(text: string): { run(): unknown; all(): unknown };
  transaction(run: (text: string) => void): (text: string) => void;
}

const nativeOf = async (handle: unknown) => (await (handle as SqliteTransaction).connection()) as Native;

it("SQLite inbox: the driver's own function for transactions is one within that of the event", async () => {
  await using fixture = await createFixture();
  const { transaction } = await beginTransaction(fixture);
  await fixture.effects.write(transaction.handle, "before");
  const native = await nativeOf(transaction.handle);
  const write = native.transaction((text) => {
    native.exec(`INSERT INTO effects VALUES ('${text}')`);
    if (text === "undone") throw new Error("of the handler");
  });
  write("kept");
  expect(() => write("undone")).toThrow("of the handler");
  expect(await transaction.commit()).toBe("settled");
  expect(await fixture.effects.kept()).toEqual(["before", "kept"]);
});

describe("SQLite inbox: a transaction that SQLite has ended", () => {
  const tables = `
    CREATE TABLE IF NOT EXISTS guarded (name TEXT UNIQUE);
    CREATE TRIGGER IF NOT EXISTS guard BEFORE INSERT ON guarded WHEN new.name = 'forbidden'
      BEGIN SELECT raise(ROLLBACK, 'forbidden'); END;
    INSERT OR IGNORE INTO guarded VALUES ('taken');`;

  it.each([
    ["INSERT OR ROLLBACK", "INSERT OR ROLLBACK INTO guarded VALUES ('taken')"],
    ["a trigger's RAISE(ROLLBACK)", "INSERT INTO guarded VALUES ('forbidden')"],
  ])("by %s executes nothing more, although the handler catches the error", async (_, statement) => {
    await using fixture = await createFixture();
    await migrateApplication(fixture, tables);
    const begun = await beginTransaction(fixture);
    const { handle } = begun.transaction;
    await fixture.effects.write(handle, "before");
    await expect(handle.query(statement)).rejects.toThrow();
    await expect(fixture.effects.write(handle, "after")).rejects.toMatchObject({
      code: "TRANSACTION_ENDED_BY_SQL",
    });
    await expectUndone(fixture, begun);
  });

  it("because the file is full executes nothing more, and other deliveries are stored", async () => {
    await using fixture = await createFixture();
    await migrateApplication(fixture, "CREATE TABLE large (bytes BLOB)");
    const begun = await beginTransaction(fixture);
    const { handle } = begun.transaction;
    const native = await nativeOf(handle);
    native.exec("PRAGMA max_page_count = 300");
    await fixture.effects.write(handle, "before");
    await expect(
      (handle as SqliteTransaction).query("INSERT INTO large VALUES (zeroblob(1000000))"),
    ).rejects.toThrow("full");
    await expect(fixture.effects.write(handle, "after")).rejects.toMatchObject({
      code: "TRANSACTION_ENDED_BY_SQL",
    });
    expect(await fixture.inbox.insert(runningAt("task-2", 1))).toEqual({ outcome: "new" });
    await begun.transaction.rollback();
    expect(await fixture.effects.kept()).toEqual([]);
  });

  it.each(["SELECT 1; ROLLBACK", "SELECT 1; ROLLBACK; BEGIN", "SELECT ';'; COMMIT; BEGIN"])(
    "is not ended by %j on the driver's connection, of which nothing is executed",
    async (statements) => {
      await using fixture = await createFixture();
      const begun = await beginTransaction(fixture);
      const native = await nativeOf(begun.transaction.handle);
      await fixture.effects.write(begun.transaction.handle, "before");
      expect(() => native.exec(statements)).toThrow("was not executed");
      await expectUndone(fixture, begun);
    },
  );
});

/** Executes statements as the application does, in a transaction of their own. */
async function migrateApplication(fixture: CrashFixture, statements: string): Promise<void> {
  const { transaction } = await beginTransaction(fixture, "task-setup");
  (await nativeOf(transaction.handle)).exec(statements);
  expect(await transaction.commit()).toBe("settled");
}
