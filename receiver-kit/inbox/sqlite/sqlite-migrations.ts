// Migrations of the SQLite inbox, in order; a released entry never changes (see schema-version.ts). The tables have a
// prefix because the file may contain the application's own tables: only then can a handler's writes and the inbox commit
// together.
//
// A commit writes every page that it changed, whole. So a delivery is written once, its body in a table of its own; what
// changes as it is handled is in narrow tables. The lease belongs to a key, so that a claim need not search for the other
// rows of a key; the rows of a lease are known by their numbers. Without AUTOINCREMENT a number may be used again once the
// newest row was purged; nothing refers to it then. A mark of no source counts for the whole file.

import { type Migration, schemaVersionOf, throwIfTooOld, toSchemaVersion } from "../schema-version.ts";
import { type SqliteConnection, tryRollback } from "./sqlite-driver.ts";

const prefix = "workspace_tasks_";

export const sqliteTables = {
  deliveries: `${prefix}deliveries`,
  bodies: `${prefix}bodies`,
  keys: `${prefix}ordering_keys`,
  queue: `${prefix}queue`,
  marks: `${prefix}marks`,
} as const;

const { deliveries, bodies, keys, queue, marks } = sqliteTables;

/** What the columns are for: see core/storage.ts. */
const firstSchema = `
  CREATE TABLE ${deliveries} (
    seq integer PRIMARY KEY,
    source text NOT NULL,
    webhook_id text NOT NULL,
    channel text NOT NULL,
    event text,
    order_key text,
    position text,
    status text,
    workspace text,
    signed_at integer NOT NULL,
    received_at integer NOT NULL,
    secret_index integer,
    traceparent text,
    outcome text,
    attempts integer,
    last_error text,
    replays integer NOT NULL DEFAULT 0,
    replayed_at integer,
    died_at integer,
    lease_until integer,
    generation integer,
    UNIQUE (source, webhook_id)
  );
  CREATE TABLE ${bodies} (seq integer PRIMARY KEY, body blob NOT NULL);
  CREATE TABLE ${keys} (
    id integer PRIMARY KEY,
    source text NOT NULL,
    order_key text NOT NULL,
    workspace text,
    head text,
    status text,
    moved_at integer,
    waiting integer NOT NULL,
    wake_at integer,
    worker text,
    generation integer NOT NULL DEFAULT 0,
    claimed text,
    suspects integer NOT NULL DEFAULT 0,
    UNIQUE (source, order_key)
  );
  CREATE TABLE ${queue} (
    key_id integer NOT NULL,
    position text NOT NULL,
    seq integer NOT NULL,
    due_at integer NOT NULL,
    attempts integer NOT NULL,
    body_bytes integer NOT NULL,
    last_error text,
    PRIMARY KEY (key_id, position, seq)
  ) WITHOUT ROWID;
  CREATE TABLE ${marks} (
    source text NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (source, name)
  ) WITHOUT ROWID;
  CREATE INDEX ${keys}_wake ON ${keys} (source, wake_at, id) WHERE wake_at IS NOT NULL;
  CREATE INDEX ${keys}_running ON ${keys} (source, order_key) WHERE status = 'RUNNING';
  CREATE INDEX ${keys}_moved ON ${keys} (moved_at) WHERE moved_at IS NOT NULL;
  CREATE INDEX ${deliveries}_unhandled ON ${deliveries} (outcome, source, order_key)
    WHERE outcome IN ('dead', 'quarantined');
  CREATE INDEX ${deliveries}_unhandled_seq ON ${deliveries} (outcome, seq) WHERE outcome IN ('dead', 'quarantined');`;

export const sqliteMigrations: readonly Migration<string>[] = [
  { release: "0.1.0", oldestUsable: 1, statements: firstSchema },
];

const ownVersion = schemaVersionOf(sqliteMigrations);
const table = `${prefix}inbox_version`;
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
    version,
    oldestUsable,
    oldestRelease,
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
    if (!connection.firstPrepared(selectNewer, [ownVersion.version])) return;
    for (const row of connection.query(select)) throwIfTooOld("sqlite", ownVersion, toSchemaVersion(row));
  } catch (error) {
    tryRollback(connection);
    throw error;
  }
}
