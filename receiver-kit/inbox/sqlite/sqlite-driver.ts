// Three packages open SQLite from Node: libsql (prebuilt, quick to install), better-sqlite3 (compiled on some machines)
// and Node's own node:sqlite (from 22.5 on). The inbox needs little of them, so it works with any.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { bytesOf, isError, tagOf } from "@workspace-tasks/kernel/realm.ts";
import { ReceiverError } from "../../errors.ts";
import { remembering } from "../handler-transaction.ts";

export type SqliteValue = string | number | bigint | Uint8Array | null;
export type SqliteRow = Readonly<Record<string, unknown>>;
export type SqliteColumns = readonly unknown[];

export const sqliteDriverNames = ["libsql", "better-sqlite3", "node:sqlite"] as const;
export type SqliteDriverName = (typeof sqliteDriverNames)[number];

/** What the inbox needs of an open database. */
export interface SqliteConnection {
  exec(sql: string): void;
  /** Runs one statement and returns its rows, if any. The last hundred that were used stay prepared. */
  query(sql: string, values?: readonly SqliteValue[]): readonly SqliteRow[];
  /** The rows of a statement that stays prepared, as arrays of their columns: objects take twice as long. */
  rowsPrepared(sql: string, values: readonly SqliteValue[]): readonly SqliteColumns[];
  /** The first of these rows, if any: of libsql in half the time of a list. */
  firstPrepared(sql: string, values: readonly SqliteValue[]): SqliteColumns | undefined;
  /** Runs a prepared statement that returns no rows; returns the number of rows changed. */
  changePrepared(sql: string, values: readonly SqliteValue[]): number;
  /** Runs a prepared INSERT without RETURNING; returns the row's number, `undefined` when none was inserted. */
  insertPrepared(sql: string, values: readonly SqliteValue[]): number | undefined;
  /** False also when SQLite has ended the transaction by itself. */
  isInTransaction(): boolean;
  close(): void;
  /** The driver's own connection object. */
  readonly native: unknown;
}

/**
 * Opens a database file; called again when a broken connection has to be replaced, and for short checks, which only read:
 * with `isReadOnly` the connection need not be able to write.
 */
export type SqliteOpener = (
  path: string,
  options?: { readonly isReadOnly?: boolean | undefined },
) => SqliteConnection;

interface NativeStatement {
  readonly reader?: boolean;
  all(...values: unknown[]): unknown[];
  get(...values: unknown[]): unknown;
  run(...values: unknown[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  /** Rows are arrays from now on; of libsql and better-sqlite3. */
  raw?(): unknown;
  /** The same of node:sqlite, from Node 22.16 on. */
  setReturnArrays?(isEnabled: boolean): void;
}

interface NativeDatabase {
  /** libsql and better-sqlite3. */
  readonly inTransaction?: boolean;
  /** node:sqlite, from Node 22.16 on. */
  readonly isTransaction?: boolean;
  exec(sql: string): void;
  prepare(sql: string): NativeStatement;
  close(): void;
}

type NativeConstructor = new (path: string, options: object) => NativeDatabase;

/** Loads the named driver, or the first one that is installed. @throws {ReceiverError} `INBOX_OPEN_FAILED` */
export async function loadSqliteDriver(
  name?: SqliteDriverName,
  load: (name: SqliteDriverName) => Promise<unknown> = importDriver,
): Promise<SqliteOpener> {
  const causes: unknown[] = [];
  for (const candidate of name ? [name] : sqliteDriverNames) {
    try {
      const native = databaseConstructor(candidate, await load(candidate));
      return (path, { isReadOnly = false } = {}) => {
        const options = { [candidate === "node:sqlite" ? "readOnly" : "readonly"]: isReadOnly };
        return connectionOf(new native(path, options), valueStyles[candidate]);
      };
    } catch (cause) {
      causes.push(cause);
    }
  }
  const wanted = name === "node:sqlite" ? "Node 22.5 or later" : `npm install ${name ?? "libsql"}`;
  throw new ReceiverError(
    "INBOX_OPEN_FAILED",
    `sqlite inbox: no SQLite driver found, expected ${name ?? "one of libsql, better-sqlite3, node:sqlite"}; try: ${wanted}`,
    { cause: new AggregateError(causes) },
  );
}

/** Literal specifiers within `try`: bundlers see what may be loaded, and that it may be missing. */
async function importDriver(name: SqliteDriverName): Promise<unknown> {
  try {
    if (name === "libsql") return await import("libsql" as string);
    if (name === "better-sqlite3") return await import("better-sqlite3" as string);
    return await import("node:sqlite" as string);
  } catch (cause) {
    throw new Error(`${name} could not be loaded`, { cause });
  }
}

function databaseConstructor(name: SqliteDriverName, module: unknown): NativeConstructor {
  const exports = module as { default?: unknown; DatabaseSync?: unknown };
  const found = name === "node:sqlite" ? exports.DatabaseSync : exports.default;
  if (typeof found !== "function") throw new Error(`${name} has no database class`);
  return found as NativeConstructor;
}

/** How a driver takes values: in one array, one by one, or those of numbered parameters (`?1`) by name. */
export type ValueStyle = "array" | "spread" | "named";

const valueStyles: Readonly<Record<SqliteDriverName, ValueStyle>> = {
  libsql: "array",
  "better-sqlite3": "named",
  "node:sqlite": "spread",
};

const hasNumberedParameter = (sql: string) => /\?\d/.test(sql.replace(/'[^']*'/g, ""));

/** Wraps a driver's connection. */
export function connectionOf(native: NativeDatabase, style: ValueStyle = "array"): SqliteConnection {
  const prepareWith =
    (prepared: Map<string, NativeStatement>, create = (sql: string) => native.prepare(sql)) =>
    (sql: string) =>
      getOrCreate(prepared, sql, () => create(sql));
  const prepare = prepareWith(new Map());
  const prepareArrays = (sql: string) => {
    const statement = native.prepare(sql);
    if (statement.raw) statement.raw();
    else statement.setReturnArrays?.(true);
    return statement;
  };
  const prepareRows = prepareWith(new Map(), prepareArrays);
  // libsql uses the values of the last list for the first row that is read afterwards, so these have their own statements.
  const prepareFirst = prepareWith(new Map(), prepareArrays);
  // libsql keeps the values of the last run for any that are left out: each number of values has a statement of its own.
  const prepareOfHandler = remembering((name) => native.prepare(name.slice(name.indexOf(" ") + 1)));
  const bind = (sql: string, values: readonly SqliteValue[]): readonly unknown[] => {
    const bound = values.map(toBindable);
    if (style === "spread") return bound;
    if (style === "array" || !hasNumberedParameter(sql)) return [bound];
    return [Object.fromEntries(bound.map((value, index) => [String(index + 1), value]))];
  };
  const rowsOf = (statement: NativeStatement, sql: string, values: readonly SqliteValue[]) => {
    if (statement.reader !== false) return statement.all(...bind(sql, values)) as SqliteRow[];
    statement.run(...bind(sql, values));
    return [];
  };
  return {
    native,
    exec: (sql) => native.exec(sql),
    query: (sql, values = []) => rowsOf(prepareOfHandler(`${values.length} ${sql}`), sql, values),
    rowsPrepared: (sql, values) =>
      prepareRows(sql)
        .all(...bind(sql, values))
        .map(columnsOf),
    firstPrepared(sql, values) {
      const row = prepareFirst(sql).get(...bind(sql, values));
      // Some versions of libsql return `null` without a row.
      return row === undefined || row === null ? undefined : columnsOf(row);
    },
    changePrepared: (sql, values) => Number(prepare(sql).run(...bind(sql, values)).changes),
    insertPrepared(sql, values) {
      const { changes, lastInsertRowid } = prepare(sql).run(...bind(sql, values));
      return Number(changes) === 0 ? undefined : Number(lastInsertRowid);
    },
    isInTransaction: () => native.inTransaction ?? native.isTransaction ?? !canBegin(native),
    close: () => native.close(),
  };
}

/** node:sqlite has objects alone before Node 22.16. */
const columnsOf = (row: unknown): SqliteColumns => (Array.isArray(row) ? row : Object.values(row as object));

/** For drivers that do not tell: a transaction within one is an error. */
function canBegin(native: NativeDatabase): boolean {
  try {
    native.exec("BEGIN");
  } catch {
    return false;
  }
  native.exec("ROLLBACK");
  return true;
}

/** libsql ends the process on a boolean and binds Buffers only, so values are checked and converted here. */
export function toBindable(value: unknown, index: number): unknown {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  const bytes = bytesOf(value);
  if (bytes) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = tagOf(value) === "Date" ? "a Date" : typeof value;
  throw new ReceiverError(
    "ARGUMENT_INVALID",
    `sqlite inbox: expected value ${index + 1} to be text, a number, a bigint, bytes or null, got ${found}`,
  );
}

/** Rolls back. False when the transaction may still be open: then only closing the connection ends it. */
export function tryRollback(connection: SqliteConnection): boolean {
  try {
    connection.exec("ROLLBACK");
    return true;
  } catch (error) {
    // SQLite rolls back by itself when, for example, the disk is full.
    return isError(error) && error.message.includes("no transaction is active");
  }
}

/** Name of the SQLite error code, such as `SQLITE_BUSY`, of an error or its cause; node:sqlite has only the number. */
export function sqliteErrorCode(error: unknown): string {
  const { code, errcode, cause } = error as { code?: unknown; errcode?: unknown; cause?: unknown };
  if (error instanceof ReceiverError) return isError(cause) ? sqliteErrorCode(cause) : "";
  if (typeof errcode === "number") return numericCodes[errcode & 0xff] ?? `SQLITE_${errcode}`;
  return typeof code === "string" ? code : "";
}

const numericCodes: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  26: "SQLITE_NOTADB",
};
