import { describe, expect, it } from "vitest";
import {
  connectionOf,
  loadSqliteDriver,
  type SqliteDriverName,
  sqliteErrorCode,
} from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";

const absent = async (name: SqliteDriverName): Promise<unknown> => {
  throw new Error(`cannot find ${name}`);
};

describe("loadSqliteDriver", () => {
  it("takes the first driver that can be loaded", async () => {
    const tried: string[] = [];
    const open = await loadSqliteDriver(undefined, async (name) => {
      tried.push(name);
      if (name === "libsql") throw new Error("not installed");
      return { default: class {} };
    });
    expect(tried).toEqual(["libsql", "better-sqlite3"]);
    expect(open).toBeTypeOf("function");
  });

  it("names the package to install when no driver can be loaded", async () => {
    await expect(loadSqliteDriver(undefined, absent)).rejects.toThrow(
      "no SQLite driver found, expected one of libsql, better-sqlite3, node:sqlite; try: npm install libsql",
    );
    await expect(loadSqliteDriver("better-sqlite3", absent)).rejects.toThrow(
      "try: npm install better-sqlite3",
    );
    await expect(loadSqliteDriver("node:sqlite", absent)).rejects.toThrow("try: Node 22.5 or later");
  });
});

describe("a SQLite connection", () => {
  it("passes values in the form that its driver takes", () => {
    const calls: unknown[][] = [];
    const statement = {
      reader: true,
      all: (...values: unknown[]) => void calls.push(values),
      run: () => ({ changes: 0 }),
    };
    const native = { exec() {}, prepare: () => statement as never, close() {} };
    connectionOf(native).query("SELECT ?, ?", ["a", 1]);
    connectionOf(native, "spread").query("SELECT ?, ?", ["a", 1]);
    connectionOf(native, "named").query("SELECT ?, '?1'", ["a"]);
    // better-sqlite3 counts numbered parameters among those with a name.
    connectionOf(native, "named").query("SELECT ?2, ?1", ["a", 1]);
    expect(calls).toEqual([[["a", 1]], ["a", 1], [["a"]], [{ 1: "a", 2: 1 }]]);
  });

  it("does not keep the values of a handler's last statement", async () => {
    const connection = (await loadSqliteDriver())(":memory:");
    connection.query("SELECT ? AS value", ["private"]);
    expect(connection.query("SELECT ? AS value", [])).toEqual([{ value: null }]);
    connection.close();
  });

  it("reads what a handler's statement means now, after its table was changed", async () => {
    const connection = (await loadSqliteDriver())(":memory:");
    connection.exec("CREATE TABLE effects (id); INSERT INTO effects VALUES (1)");
    const read = () => connection.query("SELECT * FROM effects");
    expect(read()).toEqual([{ id: 1 }]);
    connection.exec("ALTER TABLE effects ADD COLUMN at DEFAULT 2");
    expect(read()).toEqual([{ id: 1, at: 2 }]);
    connection.close();
  });

  it("prepares a handler's statement once, and keeps fifty of them or more", () => {
    const prepared: string[] = [];
    const prepare = (sql: string) => {
      prepared.push(sql);
      return { all: () => [], get: () => undefined, run: () => ({ changes: 0, lastInsertRowid: 0 }) };
    };
    const connection = connectionOf({ exec() {}, prepare, close() {} });
    const queryAll = (count: number) => {
      for (let index = 0; index < count; index++) connection.query(`SELECT ${index}`);
      return prepared.splice(0).length;
    };
    expect([queryAll(50), queryAll(50), queryAll(300), queryAll(300)]).toEqual([50, 0, 250, 300]);
    const long = `SELECT '${"x".repeat(10_000)}'`;
    for (const statement of [long, long]) connection.query(statement);
    expect(prepared).toEqual([long, long]);
  });

  it("tells whether a transaction is open, also with a driver that does not say", async () => {
    const connection = (await loadSqliteDriver())(":memory:");
    const { native } = connection as { native: { exec(sql: string): void } };
    const silent = connectionOf({ exec: (sql: string) => native.exec(sql) } as never);
    for (const each of [connection, silent]) {
      expect(each.isInTransaction()).toBe(false);
      native.exec("BEGIN");
      expect(each.isInTransaction()).toBe(true);
      native.exec("ROLLBACK");
    }
    connection.close();
  });

  it("reads the first row for its own values, not for those of a list before", async () => {
    const connection = (await loadSqliteDriver())(":memory:");
    connection.exec("CREATE TABLE numbers (n INTEGER PRIMARY KEY); INSERT INTO numbers VALUES (1), (2)");
    const from = "SELECT n FROM numbers WHERE n >= ?1 ORDER BY n";
    expect(connection.rowsPrepared(from, [1])).toEqual([[1], [2]]);
    expect(connection.firstPrepared(from, [2])).toEqual([2]);
    expect(connection.rowsPrepared(from, [2])).toEqual([[2]]);
    expect(connection.firstPrepared(from, [3])).toBeUndefined();
    expect(connection.firstPrepared(from, [1])).toEqual([1]);
    connection.close();
  });

  it("binds the bytes of any view", async () => {
    const connection = (await loadSqliteDriver())(":memory:");
    const view = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4);
    const [row] = connection.query("SELECT length(?1) AS length, hex(?1) AS hex", [view]);
    expect(row).toEqual({ length: 3, hex: "010203" });
    connection.close();
  });
});

it("sqliteErrorCode reads the error codes of every driver", () => {
  expect(sqliteErrorCode({ code: "SQLITE_BUSY_SNAPSHOT" })).toBe("SQLITE_BUSY_SNAPSHOT");
  expect(sqliteErrorCode({ code: "ERR_SQLITE_ERROR", errcode: 5 })).toBe("SQLITE_BUSY");
  expect(sqliteErrorCode({ code: "ERR_SQLITE_ERROR", errcode: 1032 })).toBe("SQLITE_READONLY");
  expect(sqliteErrorCode(new Error("other"))).toBe("");
});
