// The tables of the PostgreSQL inbox, and how a release brings them to its version beside running receivers. All are in
// one schema, and are named with it.
//
// PRIVILEGES. The role that migrates owns the schema (or may create it: CREATE on the database). The role that runs the
// receiver needs USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, USAGE on its one sequence, and
// nothing else; when the schema is up to date it does not try to change it.
//
// OWNER. What another role has prepared under these names could have a trigger that runs with the rights of the receiver,
// and its owner reads the deliveries. So a role that may migrate opens only what is its own, or a role's of which it is a
// member. One that may not (`migrate: false`) relies on who has granted it the tables.
//
// RUNNING RECEIVERS. What a receiver writes, it writes in a transaction that has read the version (postgres-statements.ts).
// A migration begins with TRUNCATE of that table: it waits until these transactions have ended, and those that begin later
// wait for the migration. A handler's transaction reads the version at its end only, and may then have locks for which the
// migration waits; so the migration waits for a short time only, and is repeated.

import { setTimeout as pause } from "node:timers/promises";
import { foreignOwner, ownersQuery } from "@workspace-tasks/kernel/postgres-owner.ts";
import { isReceiverError, ReceiverError } from "../../errors.ts";
import * as version from "../schema-version.ts";
import { codeOf, type GuardedClient, type GuardedPool } from "./guarded-pool.ts";
import { tablesOf, wakeSource } from "./postgres-statements.ts";

/** In order; a released entry never changes (see schema-version.ts). */
export const postgresMigrations: readonly version.Migration<(schema: string) => string>[] = [
  { release: "0.1.0", oldestUsable: 1, statements: firstSchema },
];

/** The version of the tables in this release. */
export const postgresVersion = version.schemaVersionOf(postgresMigrations);

/** What each column is for: postgres-statements.ts. Ids and positions compare by bytes, whatever the database's language. */
function firstSchema(schema: string): string {
  const { deliveries, bodies, keys, queue, marks } = tablesOf(schema);
  const text = 'text COLLATE "C"';
  return `
    CREATE SEQUENCE ${schema}.row_numbers;
    CREATE TABLE ${deliveries} (
      seq bigint DEFAULT nextval('${schema}.row_numbers') PRIMARY KEY,
      source ${text} NOT NULL,
      webhook_id ${text} NOT NULL,
      channel text NOT NULL,
      event text,
      order_key ${text},
      position ${text},
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
      died_at bigint,
      lease_until bigint,
      generation integer,
      UNIQUE (source, webhook_id)
    );
    CREATE TABLE ${bodies} (seq bigint PRIMARY KEY, body bytea NOT NULL);
    CREATE TABLE ${keys} (
      id bigint DEFAULT nextval('${schema}.row_numbers') PRIMARY KEY,
      source ${text} NOT NULL,
      order_key ${text} NOT NULL,
      workspace text,
      head ${text},
      status text,
      moved_at bigint,
      idle_since bigint,
      waiting integer NOT NULL,
      wake_at bigint,
      worker text,
      generation integer NOT NULL DEFAULT 0,
      claimed bigint[],
      is_suspect boolean NOT NULL DEFAULT false,
      UNIQUE (source, order_key)
    );
    CREATE TABLE ${queue} (
      key_id bigint NOT NULL,
      position ${text} NOT NULL,
      seq bigint NOT NULL,
      due_at bigint NOT NULL,
      attempts integer NOT NULL DEFAULT 0,
      body_bytes integer NOT NULL,
      last_error text,
      PRIMARY KEY (key_id, position, seq)
    );
    CREATE TABLE ${marks} (
      source ${text} NOT NULL, name text NOT NULL, value text NOT NULL, PRIMARY KEY (source, name)
    );
    CREATE INDEX ordering_keys_wake ON ${keys} (${wakeSource}, wake_at, id) WHERE wake_at IS NOT NULL;
    CREATE INDEX ordering_keys_running ON ${keys} (source, order_key) WHERE status = 'RUNNING';
    CREATE INDEX ordering_keys_idle ON ${keys} (idle_since) WHERE idle_since IS NOT NULL;
    CREATE INDEX deliveries_unhandled ON ${deliveries} (outcome, source, order_key)
      WHERE outcome IN ('dead', 'quarantined');
    CREATE INDEX deliveries_unhandled_seq ON ${deliveries} (outcome, seq) WHERE outcome IN ('dead', 'quarantined');`;
}

export interface MigrationTarget {
  readonly schema: string;
  /** False: it must be usable as it is. */
  readonly migrate: boolean;
  /** The key of the advisory lock. */
  readonly lockKey: string;
}

/**
 * Opens the schema, and first brings it to the version of this release where it may. Processes that start together do so
 * one after the other, under an advisory lock. An up-to-date schema is only read.
 *
 * @throws {ReceiverError} `INBOX_OPEN_FAILED`, with the cause and what to do; `RELEASE_TOO_OLD`
 */
export async function openSchema(pool: GuardedPool, target: MigrationTarget): Promise<void> {
  try {
    await pool.open();
    if (await isCurrent(pool, target)) return;
    if (!target.migrate) {
      throw openFailed(
        `the schema ${target.schema} is not of this release: open the inbox of this release once with migrate: true and a role that owns the schema`,
      );
    }
    await repeatMigration(pool, target);
  } catch (error) {
    if (isReceiverError(error, "RELEASE_TOO_OLD") || isReceiverError(error, "INBOX_OPEN_FAILED")) throw error;
    throw openFailed(`${reasonOf(error)}; ${adviceFor(error)}`, error);
  }
}

const openFailed = (message: string, cause?: unknown) =>
  new ReceiverError(
    "INBOX_OPEN_FAILED",
    `postgres inbox: it cannot be opened: ${message}`,
    cause === undefined ? {} : { cause },
  );

function reasonOf(error: unknown): string {
  const message = (error as Error | undefined)?.message || codeOf(error) || String(error);
  return message.replace(/^postgres inbox: /, "");
}

/** By the code of the error, or of its cause. */
function adviceFor(error: unknown): string {
  const code = codeOf((error as Error | undefined)?.cause) || codeOf(error);
  const found = Object.entries(advice).find(([start]) => code.startsWith(start));
  return found?.[1] ?? "check that PostgreSQL runs, and the pool's connectionString, such as of DATABASE_URL";
}

const advice: Readonly<Record<string, string>> = {
  "42501":
    "grant the role what docs/postgresql.md lists, or open the inbox once with a role that owns the schema",
  "53100": "the server's disk is full: free space on it",
  "53300": "the server has no connection left: raise max_connections, or lower the pool's max",
  "25006":
    "a standby cannot be written, nor any server by a role whose default_transaction_read_only is on: connect to the primary, as a role that may write",
  "55P03": "another session holds a lock of the inbox for longer than a minute: end it",
  "08P01": "a pooler refuses the pool's options: remove them, or set its ignore_startup_parameters",
  "28": "check the user and the password of the pool's connectionString",
  "3D000": "create the database, or correct its name in the pool's connectionString",
};

async function repeatMigration(pool: GuardedPool, target: MigrationTarget): Promise<void> {
  for (let triesLeft = triesMax; ; triesLeft--) {
    try {
      return await pool.transaction((client) => migrate(client, target), migrationLimitMs);
    } catch (error) {
      // A lock was not available in time, or two sessions waited for each other.
      if (triesLeft === 1 || !/^(55P03|40P01)$/.test(codeOf(error))) throw error;
      await pause(retryPauseMs);
    }
  }
}

async function migrate(client: GuardedClient, { schema, lockKey }: MigrationTarget): Promise<void> {
  await client.send(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [lockKey]);
  const found = await readVersion(client, schema, true);
  if (found && found.version >= postgresVersion.version) return;
  const name = `"${schema}"`;
  const { version: table } = tablesOf(name);
  if (!found) await createSchema(client, schema);
  await client.send(`TRUNCATE ${table}`);
  for (const { statements } of postgresMigrations.slice(found?.version ?? 0))
    await client.send(statements(name));
  const { version: number, oldestUsable, oldestRelease } = postgresVersion;
  await client.query(`INSERT INTO ${table} (version, oldest_usable, oldest_release) VALUES ($1, $2, $3)`, [
    number,
    oldestUsable,
    oldestRelease,
  ]);
}

/** CREATE SCHEMA needs a privilege on the database even when the schema exists, so that is checked first. */
async function createSchema(client: GuardedClient, schema: string): Promise<void> {
  const rows = await client.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema]);
  if (rows.length === 0) await client.send(`CREATE SCHEMA "${schema}"`);
  const { version: table } = tablesOf(`"${schema}"`);
  await client.send(
    `CREATE TABLE IF NOT EXISTS ${table} (version integer NOT NULL, oldest_usable integer NOT NULL, oldest_release text NOT NULL)`,
  );
}

async function isCurrent(pool: GuardedPool, { schema, migrate }: MigrationTarget): Promise<boolean> {
  const found = await readVersion(pool, schema, migrate);
  return found !== undefined && found.version >= postgresVersion.version;
}

/**
 * Undefined before the first migration. The catalog is read as a table: `to_regclass` uses a cache that is not refreshed
 * by waiting for an advisory lock, and so would miss the table that the lock's last holder has just created.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`, `INBOX_OPEN_FAILED`
 */
async function readVersion(
  database: GuardedPool | GuardedClient,
  schema: string,
  mustOwn: boolean,
): Promise<version.SchemaVersion | undefined> {
  const tables = Object.values(tablesOf("")).map((name) => name.slice(1));
  const objects = await database.query(ownersQuery, [schema, tables]);
  const foreign = mustOwn ? foreignOwner(schema, objects) : undefined;
  if (foreign !== undefined) {
    throw openFailed(`${foreign}, or pass migrate: false if another role has created the inbox for this one`);
  }
  if (!objects.some(({ name }) => name === "inbox_version")) return undefined;
  const [row] = await database.query(
    `SELECT version, oldest_usable, oldest_release FROM ${tablesOf(`"${schema}"`).version}`,
    [],
  );
  if (!row) return undefined;
  const found = version.toSchemaVersion(row);
  version.throwIfTooOld("postgres", postgresVersion, found);
  return found;
}

/** @throws {ReceiverError} `RELEASE_TOO_OLD`, after a newer release has migrated the schema */
export async function requireUsable(pool: GuardedPool, schema: string): Promise<void> {
  const found = await readVersion(pool, schema, false);
  if (!found) throw new ReceiverError("INBOX_UNAVAILABLE", "postgres inbox: the schema has no version");
}

const migrationLimitMs = 900_000;
// While a migration waits for a table, everything else waits for the migration. Another session that has a lock, for
// whatever reason, is waited for one minute in all.
const lockTimeoutMs = 2_000;
const retryPauseMs = 500;
const triesMax = 24;
