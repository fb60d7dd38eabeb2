// Migrations of the SQLite inbox, in order; a released entry never changes (see schema-version.ts). The tables have a
// prefix because the file may contain the application's own tables: only then can a handler's writes and the inbox commit
// together.
//
// A commit writes every page that it changed, whole. So a delivery is written once, its body in a table of its own; what
// changes as it is handled is in narrow tables. The lease belongs to a key, so that a claim need not search for the other
// rows of a key; the rows of a lease are known by their numbers. Without AUTOINCREMENT a number may be used again once the
// newest row was purged; nothing refers to it then. A mark of no source counts for the whole file.

import { type Migration, schemaVersionOf, throwIfTooOld, toSchemaVersion } from "../sql/schema-version.ts";
import { type SqliteConnection, tryRollback } from "./sqlite-driver.ts";

export const sqliteMigrations: readonly Migration<string>[] = [
  {
    release: "0.1.0",
    oldestUsable: 1,
    statements: `
      CREATE TABLE workspace_tasks_deliveries (
        seq INTEGER PRIMARY KEY,
        source TEXT NOT NULL,
        webhook_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        event TEXT,
        order_key TEXT,
        position TEXT,
        status TEXT,
        workspace TEXT,
        signed_at INTEGER NOT NULL,
        received_at INTEGER NOT NULL,
        secret_index INTEGER,
        traceparent TEXT,
        outcome TEXT,
        attempts INTEGER,
        last_error TEXT,
        replays INTEGER NOT NULL DEFAULT 0,
        replayed_at INTEGER,
        lease_until INTEGER,
        leased_at INTEGER,
        generation INTEGER,
        UNIQUE (source, webhook_id)
      );
      CREATE TABLE workspace_tasks_bodies (seq INTEGER PRIMARY KEY, body BLOB NOT NULL);
      CREATE TABLE workspace_tasks_ordering_keys (
        id INTEGER PRIMARY KEY,
        source TEXT NOT NULL,
        order_key TEXT NOT NULL,
        workspace TEXT,
        position TEXT,
        status TEXT,
        moved_at INTEGER,
        waiting INTEGER NOT NULL,
        wake_at INTEGER,
        worker TEXT,
        generation INTEGER NOT NULL DEFAULT 0,
        leased_at INTEGER,
        held INTEGER NOT NULL DEFAULT 0,
        suspects INTEGER NOT NULL DEFAULT 0,
        claimed TEXT,
        UNIQUE (source, order_key)
      );
      CREATE TABLE workspace_tasks_queue (
        key_id INTEGER NOT NULL,
        position TEXT NOT NULL,
        seq INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        failed_at INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        body_bytes INTEGER NOT NULL,
        last_error TEXT,
        PRIMARY KEY (key_id, position, seq)
      ) WITHOUT ROWID;
      CREATE TABLE workspace_tasks_marks (
        source TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (source, name)
      ) WITHOUT ROWID;
      CREATE INDEX workspace_tasks_ordering_keys_wake ON workspace_tasks_ordering_keys (source, wake_at, id)
        WHERE wake_at IS NOT NULL;
      CREATE INDEX workspace_tasks_ordering_keys_running ON workspace_tasks_ordering_keys (source, order_key)
        WHERE status = 'RUNNING';
      CREATE INDEX workspace_tasks_deliveries_unhandled ON workspace_tasks_deliveries (source, outcome, order_key)
        WHERE outcome IN ('dead', 'quarantined');`,
  },
];

const ownVersion = schemaVersionOf(sqliteMigrations);
const table = "workspace_tasks_inbox_version";
const select = `SELECT version, oldest_usable, oldest_release FROM ${table}`;
const selectNewer = `${select} WHERE oldest_usable > ?1`;

/** Migrates the file to the newest version. Processes that start together do so one after the other, under the write lock. */
export function migrateSqlite(connection: SqliteConnection): void {
  try {
    connection.exec("BEGIN IMMEDIATE");
    connection.exec(
      `CREATE TABLE IF NOT EXISTS ${table} (version INTEGER, oldest_usable INTEGER, oldest_release TEXT)`,
    );
    const [row] = connection.query(select);
    const found = row ? toSchemaVersion(row) : undefined;
    if (found) throwIfTooOld("sqlite", ownVersion, found);
    const missing = sqliteMigrations.slice(found?.version ?? 0);
    for (const { statements } of missing) connection.exec(statements);
    if (missing.length > 0) recordVersion(connection);
    connection.exec("COMMIT");
  } catch (error) {
    tryRollback(connection);
    throw error;
  }
}

function recordVersion(connection: SqliteConnection): void {
  const { version, oldestUsable, oldestRelease } = ownVersion;
  connection.exec(`DELETE FROM ${table}`);
  connection.query(`INSERT INTO ${table} (version, oldest_usable, oldest_release) VALUES (?, ?, ?)`, [
    ...[version, oldestUsable, oldestRelease],
  ]);
}

/**
 * Begins a transaction that writes. Another process may have migrated the file since it was opened, so its version is
 * read under the write lock.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`; SQLITE_BUSY as it is
 */
export function beginSqliteWrite(connection: SqliteConnection): void {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const newer = connection.firstPrepared(selectNewer, [ownVersion.version]);
    if (newer) throwIfTooOld("sqlite", ownVersion, toSchemaVersion(newer));
  } catch (error) {
    tryRollback(connection);
    throw error;
  }
}
