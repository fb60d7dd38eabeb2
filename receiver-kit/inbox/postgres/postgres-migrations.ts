// Migrations of the PostgreSQL inbox, in order; a released entry never changes. All tables are in one schema.
//
// PRIVILEGES. The role that migrates owns the schema (or may create it: CREATE on the database). The role that runs the
// receiver needs USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, USAGE on its one sequence, EXECUTE
// on its functions, which every role has unless it was revoked, and nothing else; when the schema is up to date it does
// not try to change it.

import { ReceiverError } from "../../errors.ts";
import type { BoundedPool } from "./bounded-pool.ts";
import { identifier } from "./postgres-expressions.ts";
import { missingFunctions, type ServerFunction } from "./postgres-functions.ts";
import type { PostgresQueryable } from "./postgres-pool.ts";

/** Ids and positions compare by bytes, whatever the database's language. */
export const postgresMigrations: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE TABLE ${schema}.inbox (
      seq bigserial PRIMARY KEY,
      source text COLLATE "C" NOT NULL,
      webhook_id text COLLATE "C" NOT NULL,
      channel text NOT NULL,
      state text NOT NULL,
      event text,
      order_key text COLLATE "C",
      position text COLLATE "C",
      status text,
      signed_at bigint NOT NULL,
      received_at bigint NOT NULL,
      due_at bigint NOT NULL,
      lease_until bigint,
      worker text,
      generation integer NOT NULL DEFAULT 0,
      attempts integer NOT NULL DEFAULT 0,
      replays integer NOT NULL DEFAULT 0,
      last_error text,
      body bytea,
      UNIQUE (source, webhook_id)
    );
    CREATE INDEX inbox_due ON ${schema}.inbox (source, due_at, seq) WHERE state = 'pending';
    CREATE INDEX inbox_leases ON ${schema}.inbox (source, lease_until) WHERE state = 'running';
    CREATE INDEX inbox_waiting ON ${schema}.inbox (source, order_key, position, seq) WHERE state = 'pending';
    CREATE INDEX inbox_running ON ${schema}.inbox (source, order_key) WHERE state = 'running';
    CREATE INDEX inbox_attention ON ${schema}.inbox (source, order_key) WHERE state IN ('dead', 'quarantined');
    CREATE INDEX inbox_age ON ${schema}.inbox (state, received_at);
    CREATE INDEX inbox_bodies ON ${schema}.inbox (received_at)
      WHERE body IS NOT NULL AND state IN ('done', 'stale', 'discarded');
    CREATE TABLE ${schema}.order_heads (
      source text COLLATE "C" NOT NULL,
      order_key text COLLATE "C" NOT NULL,
      position text COLLATE "C" NOT NULL,
      status text,
      moved_at bigint NOT NULL,
      PRIMARY KEY (source, order_key)
    );
    CREATE INDEX order_heads_age ON ${schema}.order_heads (moved_at);
    CREATE INDEX order_heads_running ON ${schema}.order_heads (source, moved_at) WHERE status = 'RUNNING';
    CREATE TABLE ${schema}.beats (source text COLLATE "C" PRIMARY KEY, beat_at bigint NOT NULL);`,
  // An update writes the whole row again. Bodies are written once, so they have a table of their own; the rows that each
  // stage of an event changes are then narrow, and every index contains only the states that need it.
  (schema) => `
    CREATE TABLE ${schema}.bodies (seq bigint PRIMARY KEY, body bytea NOT NULL);
    INSERT INTO ${schema}.bodies SELECT seq, body FROM ${schema}.inbox WHERE body IS NOT NULL;
    ALTER TABLE ${schema}.inbox ADD COLUMN body_bytes integer;
    DROP INDEX ${schema}.inbox_due, ${schema}.inbox_waiting, ${schema}.inbox_running, ${schema}.inbox_attention,
      ${schema}.inbox_age, ${schema}.inbox_bodies;
    ALTER TABLE ${schema}.inbox DROP COLUMN body;
    UPDATE ${schema}.inbox AS row SET body_bytes = length(bodies.body)
      FROM ${schema}.bodies AS bodies WHERE bodies.seq = row.seq;
    CREATE INDEX inbox_due ON ${schema}.inbox (source, due_at, seq, received_at) WHERE state = 'pending';
    CREATE INDEX inbox_keys ON ${schema}.inbox (source, order_key, state, position, seq)
      WHERE state IN ('pending', 'running');
    CREATE INDEX inbox_attention ON ${schema}.inbox (source, state, order_key)
      WHERE state IN ('dead', 'quarantined');
    CREATE INDEX inbox_settled ON ${schema}.inbox (state, received_at, seq)
      WHERE state IN ('done', 'stale', 'discarded', 'inline');
    CREATE INDEX inbox_bodies ON ${schema}.inbox (received_at)
      WHERE body_bytes IS NOT NULL AND state IN ('done', 'stale', 'discarded', 'inline');`,
  (schema) => `ALTER TABLE ${schema}.inbox ADD COLUMN secret_index integer, ADD COLUMN traceparent text;`,
  // A mark of no source counts for the whole schema.
  (schema) => `
    ALTER TABLE ${schema}.inbox ADD COLUMN workspace text;
    ALTER TABLE ${schema}.order_heads ADD COLUMN workspace text;
    CREATE TABLE ${schema}.marks (
      source text COLLATE "C" NOT NULL,
      name text NOT NULL,
      value text NOT NULL,
      PRIMARY KEY (source, name)
    );
    INSERT INTO ${schema}.marks (source, name, value)
      SELECT '', 'retention-time', max(beat_at)::text FROM ${schema}.beats HAVING count(*) > 0;
    DROP TABLE ${schema}.beats;`,
  // A delivery is written once; what changes as it is handled is in narrow tables. The lease belongs to a key instead of
  // a row, so that a claim needs neither a lock of the whole inbox nor a search for the other rows of a key.
  (schema) => `
    CREATE TABLE ${schema}.deliveries (
      seq bigint PRIMARY KEY DEFAULT nextval('${schema}.inbox_seq_seq'),
      source text COLLATE "C" NOT NULL,
      webhook_id text COLLATE "C" NOT NULL,
      channel text NOT NULL,
      event text,
      order_key text COLLATE "C",
      position text COLLATE "C",
      status text,
      workspace text,
      signed_at bigint NOT NULL,
      received_at bigint NOT NULL,
      secret_index integer,
      traceparent text,
      outcome text,
      attempts integer,
      last_error text,
      replays integer NOT NULL DEFAULT 0,
      replayed_at bigint,
      lease_until bigint,
      leased_at bigint,
      generation integer,
      UNIQUE (source, webhook_id)
    );
    CREATE TABLE ${schema}.ordering_keys (
      id bigint PRIMARY KEY DEFAULT nextval('${schema}.inbox_seq_seq'),
      source text COLLATE "C" NOT NULL,
      order_key text COLLATE "C" NOT NULL,
      workspace text,
      position text COLLATE "C",
      status text,
      moved_at bigint,
      waiting integer NOT NULL,
      wake_at bigint,
      worker text,
      generation integer NOT NULL DEFAULT 0,
      leased_at bigint,
      held integer NOT NULL DEFAULT 0,
      suspects integer NOT NULL DEFAULT 0,
      UNIQUE (source, order_key)
    );
    CREATE TABLE ${schema}.queue (
      key_id bigint NOT NULL,
      position text COLLATE "C" NOT NULL,
      seq bigint NOT NULL,
      due_at bigint NOT NULL,
      attempts integer NOT NULL DEFAULT 0,
      body_bytes integer NOT NULL,
      last_error text,
      PRIMARY KEY (key_id, position, seq)
    );
    INSERT INTO ${schema}.deliveries
      SELECT seq, source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, received_at,
        secret_index, traceparent, CASE WHEN state NOT IN ('pending', 'running', 'done') THEN state END,
        CASE WHEN state NOT IN ('pending', 'running') THEN attempts END, last_error, replays,
        CASE WHEN replays > 0 THEN due_at END, CASE WHEN state = 'inline' THEN lease_until END,
        CASE WHEN state = 'inline' THEN due_at END, CASE WHEN state = 'inline' THEN generation END
      FROM ${schema}.inbox;
    INSERT INTO ${schema}.ordering_keys (source, order_key, workspace, position, status, moved_at, waiting)
      SELECT source, order_key, workspace, position, status, moved_at, 0 FROM ${schema}.order_heads;
    INSERT INTO ${schema}.ordering_keys AS ordering_key
        (source, order_key, workspace, waiting, wake_at, worker, generation, leased_at, held)
      SELECT source, coalesce(order_key, 'id:' || webhook_id), max(workspace), count(*),
        coalesce(max(lease_until) FILTER (WHERE state = 'running'), min(due_at)),
        max(worker) FILTER (WHERE state = 'running'), max(generation),
        max(due_at) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'running')
      FROM ${schema}.inbox WHERE state IN ('pending', 'running') GROUP BY 1, 2
      ON CONFLICT (source, order_key) DO UPDATE
      SET waiting = excluded.waiting, wake_at = excluded.wake_at, worker = excluded.worker,
          generation = excluded.generation, leased_at = excluded.leased_at, held = excluded.held;
    INSERT INTO ${schema}.queue
      SELECT ordering_key.id, coalesce(row.position, ''), seq, CASE WHEN attempts = 0 THEN 0 ELSE due_at END,
        attempts - CASE WHEN state = 'running' THEN 1 ELSE 0 END, coalesce(body_bytes, 0), last_error
      FROM ${schema}.inbox AS row JOIN ${schema}.ordering_keys AS ordering_key
        ON ordering_key.source = row.source AND ordering_key.order_key = coalesce(row.order_key, 'id:' || webhook_id)
      WHERE state IN ('pending', 'running');
    ALTER SEQUENCE ${schema}.inbox_seq_seq OWNED BY NONE;
    DROP TABLE ${schema}.inbox, ${schema}.order_heads;
    CREATE INDEX ordering_keys_wake ON ${schema}.ordering_keys ((source || ''), wake_at, id) WHERE wake_at IS NOT NULL;
    CREATE INDEX ordering_keys_running ON ${schema}.ordering_keys (source, order_key) WHERE status = 'RUNNING';
    CREATE INDEX deliveries_unhandled ON ${schema}.deliveries (source, outcome, order_key)
      WHERE outcome IN ('dead', 'quarantined');`,
  (schema) => `ALTER TABLE ${schema}.ordering_keys ADD COLUMN claimed bigint[];
    UPDATE ${schema}.ordering_keys AS ordering_key SET claimed = ARRAY(
      SELECT seq FROM (
        SELECT seq, row_number() OVER (ORDER BY position, seq) AS place FROM ${schema}.queue AS waiting
        WHERE waiting.key_id = ordering_key.id AND waiting.due_at <= ordering_key.leased_at) AS due
      WHERE place <= ordering_key.held)
    WHERE worker IS NOT NULL`,
];

/**
 * Migrates the schema to the newest version and creates the functions that it does not have. Processes that start together
 * do so one after the other, under an advisory lock. An up-to-date schema is only read.
 */
export async function migratePostgres(
  pool: BoundedPool,
  { schema, lockKey, functions }: MigrationTarget,
): Promise<void> {
  const isCurrent = (await currentVersion(pool, schema)) === postgresMigrations.length;
  if (isCurrent && (await missingFunctions(pool, schema, functions)).length === 0) return;
  const migrate = async (client: PostgresQueryable) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [lockKey]);
    const version = await currentVersion(client, schema);
    if (version > postgresMigrations.length) throw versionTooNew(version);
    if (version === 0) await createSchema(client, schema);
    for (const [index, migration] of postgresMigrations.entries()) {
      if (index < version) continue;
      await client.query(migration(identifier(schema)));
      await client.query(`INSERT INTO ${identifier(schema)}.migrations (version) VALUES ($1)`, [index + 1]);
    }
    for (const { definition } of await missingFunctions(client, schema, functions)) {
      await client.query(definition);
    }
  };
  await pool.transaction(`SET LOCAL lock_timeout = ${lockTimeoutMs}`, migrate, migrationLimitMs);
}

export interface MigrationTarget {
  readonly schema: string;
  /** Of the advisory lock. */
  readonly lockKey: string;
  readonly functions: readonly ServerFunction[];
}

// A large table may take minutes. Another session that holds the lock, for whatever reason, is waited for one minute.
const migrationLimitMs = 900_000;
const lockTimeoutMs = 60_000;

function versionTooNew(version: number): ReceiverError {
  return new ReceiverError(
    "INBOX_VERSION_TOO_NEW",
    `postgres inbox: the schema has version ${version}, expected at most ${postgresMigrations.length}: a newer release wrote it`,
  );
}

/**
 * 0 before the first migration. The catalog is read as a table: `to_regclass` uses a cache that is not refreshed by
 * waiting for an advisory lock, and so would miss the table that the lock's last holder has just created.
 */
async function currentVersion(queries: PostgresQueryable, schema: string): Promise<number> {
  const table = await queries.query(
    `SELECT 1 FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS space ON space.oid = class.relnamespace
     WHERE space.nspname = $1 AND class.relname = 'migrations'`,
    [schema],
  );
  if (table.rows.length === 0) return 0;
  const { rows } = await queries.query(
    `SELECT max(version) AS version FROM ${identifier(schema)}.migrations`,
  );
  return Number(rows[0]?.["version"] ?? 0);
}

/** CREATE SCHEMA needs a privilege on the database even when the schema exists, so that is checked first. */
async function createSchema(client: PostgresQueryable, schema: string): Promise<void> {
  const { rows } = await client.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${identifier(schema)}`);
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${identifier(schema)}.migrations (version integer PRIMARY KEY)`,
  );
}
