import type { SqliteConnection } from "@workspace-tasks/receiver-kit/sqlite";

/** Runs one call of a connection. */
export type AroundStatement = <Result>(statement: string, call: () => Result) => Result;

/** A connection with each statement passed through `around`. It does not wait for the disk: no power fails in these tests. */
export function interceptSqlite(inner: SqliteConnection, around: AroundStatement): SqliteConnection {
  const withoutSync = (statement: string) => statement.replace("synchronous = FULL", "synchronous = OFF");
  return {
    native: inner.native,
    isInTransaction: () => inner.isInTransaction(),
    close: () => inner.close(),
    exec: (statement) => around(statement, () => inner.exec(statement)),
    query: (statement, values) => around(statement, () => inner.query(withoutSync(statement), values)),
    rowsPrepared: (statement, values) => around(statement, () => inner.rowsPrepared(statement, values)),
    firstPrepared: (statement, values) => around(statement, () => inner.firstPrepared(statement, values)),
    insertPrepared: (statement, values) => around(statement, () => inner.insertPrepared(statement, values)),
    changePrepared: (statement, values) => around(statement, () => inner.changePrepared(statement, values)),
  };
}
