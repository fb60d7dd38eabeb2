// Migrations of the SQLite inbox, in order; a released entry never changes. The tables have a prefix because the file may
// contain the application's own tables: only then can a handler's writes and the inbox commit together.

import { ReceiverError } from "../../errors.ts";
import { type SqliteConnection, tryRollback } from "./sqlite-driver.ts";

export const sqliteMigrations: readonly string[] = [
  `CREATE TABLE workspace_tasks_inbox (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     source TEXT NOT NULL,
     webhook_id TEXT NOT NULL,
     channel TEXT NOT NULL,
     state TEXT NOT NULL,
     event TEXT,
     order_key TEXT,
     position TEXT,
     status TEXT,
     signed_at INTEGER NOT NULL,
     received_at INTEGER NOT NULL,
     due_at INTEGER NOT NULL,
     lease_until INTEGER,
     worker TEXT,
     generation INTEGER NOT NULL DEFAULT 0,
     attempts INTEGER NOT NULL DEFAULT 0,
     replays INTEGER NOT NULL DEFAULT 0,
     last_error TEXT,
     body BLOB,
     UNIQUE (source, webhook_id)
   );
   CREATE INDEX workspace_tasks_inbox_due ON workspace_tasks_inbox (source, due_at, seq) WHERE state = 'pending';
   CREATE INDEX workspace_tasks_inbox_leases ON workspace_tasks_inbox (source, lease_until) WHERE state = 'running';
   CREATE INDEX workspace_tasks_inbox_waiting ON workspace_tasks_inbox (source, order_key, position, seq)
     WHERE state = 'pending';
   CREATE INDEX workspace_tasks_inbox_running ON workspace_tasks_inbox (source, order_key) WHERE state = 'running';
   CREATE INDEX workspace_tasks_inbox_attention ON workspace_tasks_inbox (source, order_key)
     WHERE state IN ('dead', 'quarantined');
   CREATE INDEX workspace_tasks_inbox_age ON workspace_tasks_inbox (state, received_at);
   CREATE INDEX workspace_tasks_inbox_bodies ON workspace_tasks_inbox (received_at)
     WHERE body IS NOT NULL AND state IN ('done', 'stale', 'discarded');
   CREATE TABLE workspace_tasks_order_heads (
     source TEXT NOT NULL,
     order_key TEXT NOT NULL,
     position TEXT NOT NULL,
     status TEXT,
     moved_at INTEGER NOT NULL,
     PRIMARY KEY (source, order_key)
   ) WITHOUT ROWID;
   CREATE INDEX workspace_tasks_order_heads_age ON workspace_tasks_order_heads (moved_at);
   CREATE INDEX workspace_tasks_order_heads_running ON workspace_tasks_order_heads (source, moved_at)
     WHERE status = 'RUNNING';
   CREATE TABLE workspace_tasks_beats (source TEXT PRIMARY KEY, beat_at INTEGER NOT NULL) WITHOUT ROWID;`,
  // A commit writes every page that it changed, whole. Bodies are written once, so they have a table of their own; the
  // rows that each stage of an event changes are then narrow, every index contains only the states that need it, and
  // claiming a row changes one index. Running rows are few: their leases need none.
  // Without AUTOINCREMENT a number may be used again once the newest row was purged; nothing refers to it then.
  `DROP INDEX workspace_tasks_inbox_due;
   DROP INDEX workspace_tasks_inbox_leases;
   DROP INDEX workspace_tasks_inbox_waiting;
   DROP INDEX workspace_tasks_inbox_running;
   DROP INDEX workspace_tasks_inbox_attention;
   DROP INDEX workspace_tasks_inbox_age;
   DROP INDEX workspace_tasks_inbox_bodies;
   ALTER TABLE workspace_tasks_inbox RENAME TO workspace_tasks_inbox_before;
   CREATE TABLE workspace_tasks_inbox (
     seq INTEGER PRIMARY KEY,
     source TEXT NOT NULL,
     webhook_id TEXT NOT NULL,
     channel TEXT NOT NULL,
     state TEXT NOT NULL,
     event TEXT,
     order_key TEXT,
     position TEXT,
     status TEXT,
     signed_at INTEGER NOT NULL,
     received_at INTEGER NOT NULL,
     due_at INTEGER NOT NULL,
     lease_until INTEGER,
     worker TEXT,
     generation INTEGER NOT NULL DEFAULT 0,
     attempts INTEGER NOT NULL DEFAULT 0,
     replays INTEGER NOT NULL DEFAULT 0,
     last_error TEXT,
     body_bytes INTEGER,
     UNIQUE (source, webhook_id)
   );
   CREATE TABLE workspace_tasks_bodies (seq INTEGER PRIMARY KEY, body BLOB NOT NULL);
   INSERT INTO workspace_tasks_inbox
     SELECT seq, source, webhook_id, channel, state, event, order_key, position, status, signed_at, received_at, due_at,
       lease_until, worker, generation, attempts, replays, last_error, length(body)
     FROM workspace_tasks_inbox_before;
   INSERT INTO workspace_tasks_bodies
     SELECT seq, body FROM workspace_tasks_inbox_before WHERE body IS NOT NULL;
   DROP TABLE workspace_tasks_inbox_before;
   CREATE INDEX workspace_tasks_inbox_due ON workspace_tasks_inbox (source, state, due_at, seq, received_at)
     WHERE state IN ('pending', 'running');
   CREATE INDEX workspace_tasks_inbox_keys ON workspace_tasks_inbox (source, order_key, position, seq)
     WHERE state IN ('pending', 'running');
   CREATE INDEX workspace_tasks_inbox_attention ON workspace_tasks_inbox (source, state, order_key)
     WHERE state IN ('dead', 'quarantined');
   CREATE INDEX workspace_tasks_inbox_settled ON workspace_tasks_inbox (state, received_at, seq)
     WHERE state IN ('done', 'stale', 'discarded', 'inline');
   CREATE INDEX workspace_tasks_inbox_bodies ON workspace_tasks_inbox (received_at)
     WHERE body_bytes IS NOT NULL AND state IN ('done', 'stale', 'discarded', 'inline');
   CREATE TRIGGER workspace_tasks_inbox_body AFTER UPDATE OF body_bytes ON workspace_tasks_inbox
     WHEN new.body_bytes IS NULL
     BEGIN DELETE FROM workspace_tasks_bodies WHERE seq = old.seq; END;`,
  `ALTER TABLE workspace_tasks_inbox ADD COLUMN secret_index INTEGER;
   ALTER TABLE workspace_tasks_inbox ADD COLUMN traceparent TEXT;`,
  // A mark of no source counts for the whole file.
  `ALTER TABLE workspace_tasks_inbox ADD COLUMN workspace TEXT;
   ALTER TABLE workspace_tasks_order_heads ADD COLUMN workspace TEXT;
   CREATE TABLE workspace_tasks_marks (
     source TEXT NOT NULL,
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (source, name)
   ) WITHOUT ROWID;
   INSERT INTO workspace_tasks_marks (source, name, value)
     SELECT '', 'retention-time', max(beat_at) FROM workspace_tasks_beats HAVING count(*) > 0;
   DROP TABLE workspace_tasks_beats;`,
  // A delivery is written once; what changes as it is handled is in narrow tables. The lease belongs to a key instead of
  // a row, so that a claim need not search for the other rows of a key.
  `CREATE TABLE workspace_tasks_deliveries (
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
     UNIQUE (source, order_key)
   );
   CREATE TABLE workspace_tasks_queue (
     key_id INTEGER NOT NULL,
     position TEXT NOT NULL,
     seq INTEGER NOT NULL,
     due_at INTEGER NOT NULL,
     attempts INTEGER NOT NULL DEFAULT 0,
     body_bytes INTEGER NOT NULL,
     last_error TEXT,
     PRIMARY KEY (key_id, position, seq)
   ) WITHOUT ROWID;
   INSERT INTO workspace_tasks_deliveries
     SELECT seq, source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, received_at,
       secret_index, traceparent, CASE WHEN state NOT IN ('pending', 'running', 'done') THEN state END,
       CASE WHEN state NOT IN ('pending', 'running') THEN attempts END, last_error, replays,
       CASE WHEN replays > 0 THEN due_at END, CASE WHEN state = 'inline' THEN lease_until END,
       CASE WHEN state = 'inline' THEN due_at END, CASE WHEN state = 'inline' THEN generation END
     FROM workspace_tasks_inbox;
   INSERT INTO workspace_tasks_ordering_keys (source, order_key, workspace, position, status, moved_at, waiting)
     SELECT source, order_key, workspace, position, status, moved_at, 0 FROM workspace_tasks_order_heads;
   INSERT INTO workspace_tasks_ordering_keys
       (source, order_key, workspace, waiting, wake_at, worker, generation, leased_at, held)
     SELECT source, coalesce(order_key, 'id:' || webhook_id), max(workspace), count(*),
       coalesce(max(lease_until) FILTER (WHERE state = 'running'), min(due_at)),
       max(worker) FILTER (WHERE state = 'running'), max(generation),
       max(due_at) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'running')
     FROM workspace_tasks_inbox WHERE state IN ('pending', 'running') GROUP BY 1, 2
     ON CONFLICT (source, order_key) DO UPDATE
     SET waiting = excluded.waiting, wake_at = excluded.wake_at, worker = excluded.worker,
         generation = excluded.generation, leased_at = excluded.leased_at, held = excluded.held;
   INSERT INTO workspace_tasks_queue
     SELECT ordering_key.id, coalesce(row.position, ''), seq, CASE WHEN attempts = 0 THEN 0 ELSE due_at END,
       attempts - (state = 'running'), coalesce(body_bytes, 0), last_error
     FROM workspace_tasks_inbox AS row JOIN workspace_tasks_ordering_keys AS ordering_key
       ON ordering_key.source = row.source AND ordering_key.order_key = coalesce(row.order_key, 'id:' || webhook_id)
     WHERE state IN ('pending', 'running');
   DROP TABLE workspace_tasks_inbox;
   DROP TABLE workspace_tasks_order_heads;
   CREATE INDEX workspace_tasks_ordering_keys_wake ON workspace_tasks_ordering_keys (source, wake_at, id)
     WHERE wake_at IS NOT NULL;
   CREATE INDEX workspace_tasks_ordering_keys_running ON workspace_tasks_ordering_keys (source, order_key)
     WHERE status = 'RUNNING';
   CREATE INDEX workspace_tasks_deliveries_unhandled ON workspace_tasks_deliveries (source, outcome, order_key)
     WHERE outcome IN ('dead', 'quarantined');`,
  // The rows of a lease are known by their numbers: those that were due when it was granted may be others.
  `ALTER TABLE workspace_tasks_ordering_keys ADD COLUMN claimed TEXT;
   UPDATE workspace_tasks_ordering_keys AS ordering_key SET claimed = ',' || (
     SELECT group_concat(seq) FROM (
       SELECT seq, row_number() OVER (ORDER BY position, seq) AS place FROM workspace_tasks_queue AS waiting
       WHERE waiting.key_id = ordering_key.id AND waiting.due_at <= ordering_key.leased_at)
     WHERE place <= ordering_key.held) || ','
   WHERE worker IS NOT NULL;`,
];

/** Migrates the file to the newest version. Processes that start together do so one after the other, under the write lock. */
export function migrateSqlite(connection: SqliteConnection): void {
  try {
    connection.exec("BEGIN IMMEDIATE");
    connection.exec("CREATE TABLE IF NOT EXISTS workspace_tasks_migrations (version INTEGER PRIMARY KEY)");
    const [row] = connection.query("SELECT max(version) AS version FROM workspace_tasks_migrations");
    const version = Number(row?.["version"] ?? 0);
    if (version > sqliteMigrations.length) {
      throw new ReceiverError(
        "INBOX_VERSION_TOO_NEW",
        `sqlite inbox: the file has version ${version}, expected at most ${sqliteMigrations.length}: a newer release wrote it`,
      );
    }
    sqliteMigrations.slice(version).forEach((statements, index) => {
      connection.exec(statements);
      connection.query("INSERT INTO workspace_tasks_migrations (version) VALUES (?)", [version + index + 1]);
    });
    connection.exec("COMMIT");
  } catch (error) {
    tryRollback(connection);
    throw error;
  }
}
