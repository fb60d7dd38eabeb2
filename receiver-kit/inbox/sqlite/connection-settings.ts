// The handlers of all events use one connection, so what one of them sets on it would hold for those after it: neither
// ROLLBACK TO nor COMMIT resets a pragma, and temporary objects and attached files stay until the connection closes.
//
// A statement that may do such a thing runs in a transaction that is not shared, after which the connection is closed; the
// next event has a new one. What is done with the driver's own connection is not seen: then the settings are compared.

import { fromFirstWord } from "../sql/statement-text.ts";
import type { SqliteConnection } from "./sqlite-driver.ts";

const rowStatement = /^(SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH|VALUES|SAVEPOINT|RELEASE|ROLLBACK)\b/i;
const tableStatement = /^(CREATE|DROP|ALTER|ANALYZE|REINDEX)\b/i;

/** Whether what it does may outlive the transaction without being in the file: PRAGMA, ATTACH, temporary objects. */
export function concernsConnection(statement: string): boolean {
  const text = fromFirstWord(statement, "sqlite");
  if (rowStatement.test(text)) return false;
  return !tableStatement.test(text) || /\btemp(?:orary)?\b/i.test(statement);
}

/** Before the first handler had the driver's own connection. */
const initialSettings = new WeakMap<SqliteConnection, string | undefined>();

export function nativeOf(connection: SqliteConnection): unknown {
  if (!initialSettings.has(connection)) initialSettings.set(connection, readSettings(connection));
  return connection.native;
}

/** Whether a handler that had the driver's own connection left it other than it was. */
export function hasOtherSettings(connection: SqliteConnection): boolean {
  return initialSettings.get(connection) !== readSettings(connection);
}

function readSettings(connection: SqliteConnection): string | undefined {
  try {
    return JSON.stringify(connection.queryPrepared(settings));
  } catch {
    // A driver without one of these pragmas.
    return undefined;
  }
}

const pragmas = [
  ...["analysis_limit", "automatic_index", "busy_timeout", "cache_size", "cache_spill", "cell_size_check"],
  ...["defer_foreign_keys", "foreign_keys", "ignore_check_constraints", "legacy_alter_table", "locking_mode"],
  ...["query_only", "read_uncommitted", "recursive_triggers", "reverse_unordered_selects", "secure_delete"],
  ...["synchronous", "temp_store", "trusted_schema", "writable_schema"],
];
// `case_sensitive_like` cannot be read.
const settings = `SELECT 'a' LIKE 'A',
  (SELECT group_concat(type || ' ' || name) FROM temp.sqlite_master),
  (SELECT group_concat(name || ' ' || coalesce(file, '')) FROM pragma_database_list),
  ${pragmas.map((name) => `(SELECT * FROM pragma_${name})`).join(", ")}`;
