import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../../errors.ts";
import { defaults, parseOptions } from "../../options.ts";
import type { Inbox, InboxStore, NewInboxRow } from "../inbox.ts";
import type { RowEnd } from "../row-end.ts";
import { createGroupCommit } from "../sql/group-commit.ts";
import { type Steps, sqlMethods } from "../sql/sql-methods.ts";
import { boundPool } from "./connection/bounded-pool.ts";
import { migratePostgres, requireMigrated } from "./connection/migrate-postgres.ts";
import { listenForRows } from "./connection/postgres-listener.ts";
import { createNotifier } from "./connection/postgres-notifier.ts";
import { codeOf, nameNoConnection } from "./connection/server-errors.ts";
import { identifier } from "./sql/postgres-expressions.ts";
import {
  ignorePoolErrors,
  letPoolErrorsThrow,
  type PostgresPool,
  type PostgresQueryable,
} from "./sql/postgres-pool.ts";
import { postgresStatements } from "./sql/postgres-statements.ts";
import * as operations from "./transactions/postgres-operations.ts";
import { beginPostgresTransaction, type PostgresTransaction } from "./transactions/postgres-transaction.ts";

export interface PostgresInboxOptions {
  /** Schema of the inbox's tables; lower case. Default `workspace_tasks`. */
  readonly schema?: string | undefined;
  /** `false`: the tables are created in another way, by a role that may. Default `true`. */
  readonly migrate?: boolean | undefined;
  /**
   * How long a client of the pool may take to be available, and then to respond; one that does not respond is destroyed,
   * and the call fails. Reports and retention have six times as long, a migration 15 minutes. Default 5,000.
   */
  readonly queryTimeoutMs?: number | undefined;
  /** Time of due rows, leases and retention. Default: the server's clock, which all processes share. */
  readonly clock?: Clock | undefined;
}

const postgresOptions = s.strictOptions<PostgresInboxOptions>()({
  schema: s.withDefault(
    s.stringLike(/^[a-z_][a-z0-9_]{0,49}$/, "1 to 50 lower case letters, digits and _"),
    defaults.postgres.schema,
  ),
  migrate: s.withDefault(s.boolean, true),
  queryTimeoutMs: s.withDefault(s.durationMs, defaults.postgres.queryTimeoutMs),
  clock: s.optional(s.clock),
});

const postgresPool = s.objectWith<PostgresPool>("a Pool of the package pg", "connect");

/**
 * A durable inbox in PostgreSQL 13 or later, shared by any number of receiver processes.
 *
 * `pool` is a `Pool` of the `pg` package; it belongs to the caller, who ends it after the receiver is closed. Handlers that
 * use `context.transaction` take one client each, listening takes one, storing, settling and notifying up to five: set
 * the pool's `max` to at least the receiver's `concurrency` plus six, and a `connectionTimeoutMillis`.
 *
 * @example examples/receiver-kit.test.ts#postgres
 * ```ts
 * const concurrency = 8;
 * const pool = new pg.Pool({
 *   connectionString: process.env["DATABASE_URL"],
 *   max: concurrency + 6,
 *   connectionTimeoutMillis: 5_000,
 * });
 * const receiver = createReceiver({ secrets: [signingSecret], inbox: postgresInbox(pool), concurrency });
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function postgresInbox(
  callersPool: PostgresPool,
  options: PostgresInboxOptions = {},
): Inbox<PostgresTransaction> {
  parseOptions("postgresInbox: pool", postgresPool, callersPool);
  const settings = parseOptions("postgresInbox", postgresOptions, options);
  const { schema, migrate, queryTimeoutMs } = settings;
  const pool = boundPool(callersPool, queryTimeoutMs);
  const sql = postgresStatements(identifier(schema));
  const channel = `${schema}_inbox`;
  const now = () => settings.clock?.now() ?? null;
  const database: operations.PostgresDatabase = {
    pool,
    sql,
    now,
    lockTimeoutMs: Math.min(2_000, Math.ceil(0.4 * queryTimeoutMs)),
  };
  const notify = createNotifier(pool, channel);
  const { insert, end } = groupCommits(database);
  const limitOf = (isLarge?: boolean) => (isLarge ? 6 * queryTimeoutMs : undefined);
  const query = async (statement: string, values: readonly unknown[], isLarge?: boolean) =>
    (await pool.query(statement, [...values], limitOf(isLarge))).rows;
  const { settle, ...methods } = sqlMethods(
    {
      ...{ read: query, now, wake: notify, stepRows: Number.MAX_SAFE_INTEGER },
      write: (steps, isLarge) =>
        pool.transaction(sql.beginWrite, (client) => runSteps(client, steps()), limitOf(isLarge)),
      insertRow: (row) => insert(row).catch(nameLock),
      endRow: (requested) => end(requested).catch(nameLock),
    },
    sql,
    (states) => states,
  );
  // Receivers may share the inbox: each of them opens and closes it.
  let users = 0;
  const leave = () => {
    users -= 1;
    letPoolErrorsThrow(callersPool);
  };

  const store: InboxStore<PostgresTransaction> = {
    ...methods,
    durable: true,
    get isOpen() {
      return users > 0;
    },
    async open() {
      ignorePoolErrors(callersPool);
      users += 1;
      try {
        await pool.open();
        if (migrate) await migratePostgres(pool, { schema, lockKey: channel, functions: sql.functions });
        else await requireMigrated(pool, { schema, functions: sql.functions });
      } catch (error) {
        leave();
        return nameLock(nameNoConnection(error));
      }
    },
    /** The pool belongs to the caller and stays open. */
    async close() {
      if (users === 0) return;
      leave();
      if (users === 0) await pool.close();
    },
    async beginInline(webhook, inlineOptions) {
      const begun = await methods.beginInline(webhook, inlineOptions);
      if (begun.state === "done") await query(sql.awaitReplication, []);
      return begun;
    },
    claim: (claimOptions) => operations.claimRows(database, claimOptions),
    renew: (leases, leaseMs) => operations.renewLeases(database, leases, leaseMs),
    begin: (items, { timeoutMs }) =>
      beginPostgresTransaction({ database, items, timeoutMs, notify, settleInGroup: settle }),
    subscribe: (wake) =>
      listenForRows({ pool: callersPool, channel, clock: systemClock, queryTimeoutMs }, wake),
  };
  return store;
}

/** The server's error says neither what is locked nor why that ends the call. */
function nameLock(error: unknown): never {
  if (codeOf(error) !== "55P03") throw error;
  const message =
    "postgres inbox: another session holds a lock of the inbox for longer than lock_timeout: two fifths of " +
    "queryTimeoutMs, 2 s at most, and a minute for a migration, unless the server sets it";
  throw new ReceiverError("INBOX_UNAVAILABLE", message, { cause: error });
}

async function runSteps<Result>(client: PostgresQueryable, steps: Steps<Result>): Promise<Result> {
  let step = steps.next();
  while (!step.done) {
    const [statement, values] = step.value;
    step = steps.next((await client.query(statement, [...values])).rows);
  }
  return step.value;
}

function groupCommits(database: operations.PostgresDatabase) {
  // Bodies are sent in one buffer, which both sides hold in memory.
  const shared = { itemsMax: 256, bytesMax: 8_000_000, concurrency: 2, isCausedByItem };
  const insert = createGroupCommit({
    ...shared,
    commit: (rows: readonly NewInboxRow[]) => operations.insertRows(database, rows),
    bytesOf: ({ body }) => body.byteLength,
  });
  const end = createGroupCommit({
    ...shared,
    commit: (ends: readonly RowEnd[]) => operations.endRows(database.pool, database, ends),
    bytesOf: () => 0,
  });
  return { insert, end };
}

/**
 * Classes 22 and 23 are about values and constraints, 54 about sizes, 55P03 is the lock of a key that another session
 * holds; other errors would fail every row alike.
 */
const isCausedByItem = (error: unknown) => /^(22|23|54|55P03)/.test(codeOf(error));
