// Brings a PostgreSQL schema to the version of this release, beside running receivers.
//
// PRIVILEGES. The role that migrates owns the schema (or may create it: CREATE on the database). The role that runs the
// receiver needs USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, USAGE on its one sequence, EXECUTE
// on its functions, which every role has unless it was revoked, and nothing else; when the schema is up to date it does
// not try to change it.
//
// RUNNING RECEIVERS. What a receiver writes, it writes in a transaction that has read the version first (see
// postgres-functions.ts). A migration begins with TRUNCATE of that table: it waits until these transactions have ended, and
// those that begin later wait for the migration. A handler's transaction reads the version at its end only, and may then
// have locks for which the migration waits; so the migration waits for a short time only, and is repeated.

import { setTimeout as pause } from "node:timers/promises";
import { ReceiverError } from "../../../errors.ts";
import { type SchemaVersion, throwIfTooOld, toSchemaVersion } from "../../sql/schema-version.ts";
import { identifier } from "../sql/postgres-expressions.ts";
import { missingFunctions, type ServerFunction } from "../sql/postgres-functions.ts";
import { postgresMigrations, postgresVersion } from "../sql/postgres-migrations.ts";
import type { PostgresQueryable } from "../sql/postgres-pool.ts";
import type { BoundedPool } from "./bounded-pool.ts";
import { isLockConflict } from "./server-errors.ts";

export interface MigrationTarget {
  readonly schema: string;
  /** Of the advisory lock. */
  readonly lockKey: string;
  readonly functions: readonly ServerFunction[];
}

/**
 * Migrates the schema to the newest version and creates the functions that it does not have. Processes that start together
 * do so one after the other, under an advisory lock. An up-to-date schema is only read.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`
 */
export async function migratePostgres(pool: BoundedPool, target: MigrationTarget): Promise<void> {
  const { schema, functions } = target;
  const found = await readVersion(pool, schema);
  if (found && !isOlder(found) && (await missingFunctions(pool, schema, functions)).length === 0) return;
  for (let triesLeft = triesMax; ; triesLeft--) {
    try {
      await pool.transaction(
        `SET LOCAL lock_timeout = ${lockTimeoutMs}`,
        (client) => migrate(client, target),
        migrationLimitMs,
      );
      return;
    } catch (error) {
      if (triesLeft === 1 || !isLockConflict(error)) throw error;
      await pause(retryPauseMs);
    }
  }
}

async function migrate(client: PostgresQueryable, { schema, lockKey, functions }: MigrationTarget) {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [lockKey]);
  const found = await readVersion(client, schema);
  if (!found) await createSchema(client, schema);
  if (!found || isOlder(found)) await runMigrations(client, identifier(schema), found?.version ?? 0);
  for (const { definition } of await missingFunctions(client, schema, functions)) {
    await client.query(definition);
  }
}

async function runMigrations(client: PostgresQueryable, schema: string, from: number): Promise<void> {
  await client.query(`TRUNCATE ${schema}.inbox_version`);
  for (const { statements } of postgresMigrations.slice(from)) await client.query(statements(schema));
  const { version, oldestUsable, oldestRelease } = postgresVersion;
  await client.query(
    `INSERT INTO ${schema}.inbox_version (version, oldest_usable, oldest_release) VALUES ($1, $2, $3)`,
    [version, oldestUsable, oldestRelease],
  );
}

/**
 * For a role that may not migrate: the schema must be usable as it is.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`, `INBOX_OPEN_FAILED`
 */
export async function requireMigrated(
  queries: BoundedPool,
  { schema, functions }: Omit<MigrationTarget, "lockKey">,
): Promise<void> {
  const found = await readVersion(queries, schema);
  const [missing] = found && !isOlder(found) ? await missingFunctions(queries, schema, functions) : functions;
  if (!missing) return;
  throw new ReceiverError(
    "INBOX_OPEN_FAILED",
    `postgres inbox: the schema ${schema} has no function ${missing.name}: open the inbox of this release once with migrate: true and a role that owns the schema`,
  );
}

const isOlder = ({ version }: SchemaVersion) => version < postgresVersion.version;

const migrationLimitMs = 900_000;
// While a migration waits for a table, everything else waits for the migration. Another session that has a lock, for
// whatever reason, is waited for one minute in all.
const lockTimeoutMs = 2_000;
const retryPauseMs = 500;
const triesMax = 24;

/**
 * Undefined before the first migration. The catalog is read as a table: `to_regclass` uses a cache that is not refreshed
 * by waiting for an advisory lock, and so would miss the table that the lock's last holder has just created.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`
 */
async function readVersion(queries: PostgresQueryable, schema: string): Promise<SchemaVersion | undefined> {
  const table = await queries.query(
    `SELECT 1 FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS space ON space.oid = class.relnamespace
     WHERE space.nspname = $1 AND class.relname = 'inbox_version'`,
    [schema],
  );
  if (table.rows.length === 0) return undefined;
  const { rows } = await queries.query(
    `SELECT version, oldest_usable, oldest_release FROM ${identifier(schema)}.inbox_version`,
  );
  const [row] = rows;
  if (!row) return undefined;
  const found = toSchemaVersion(row);
  throwIfTooOld("postgres", postgresVersion, found);
  return found;
}

/** CREATE SCHEMA needs a privilege on the database even when the schema exists, so that is checked first. */
async function createSchema(client: PostgresQueryable, schema: string): Promise<void> {
  const { rows } = await client.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${identifier(schema)}`);
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${identifier(schema)}.inbox_version
       (version integer NOT NULL, oldest_usable integer NOT NULL, oldest_release text NOT NULL)`,
  );
}
