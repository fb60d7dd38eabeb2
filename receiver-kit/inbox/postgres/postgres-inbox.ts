import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { defaults, parseOptions } from "../../options.ts";
import type { Inbox, InboxStore } from "../inbox.ts";
import { GuardedPool } from "./guarded-pool.ts";
import { createWakeUps } from "./postgres-listener.ts";
import * as operations from "./postgres-operations.ts";
import { ignorePoolErrors, type PostgresPool } from "./postgres-pool.ts";
import { postgresRecords } from "./postgres-records.ts";
import { openSchema, postgresVersion, requireUsable } from "./postgres-schema.ts";
import { postgresStatements, tablesOf } from "./postgres-statements.ts";
import { type PostgresTransaction, Transaction } from "./postgres-transaction.ts";

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
  /**
   * `false`: no statement is prepared by name, for a transaction pooler that does not keep them. Found out by itself at the
   * first error that says so. Default `true`.
   */
  readonly prepare?: boolean | undefined;
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
  prepare: s.withDefault(s.boolean, true),
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
  const { schema, migrate, queryTimeoutMs, prepare } = settings;
  const channel = `${schema}_inbox`;
  const tables = tablesOf(`"${schema}"`);
  const pool = new GuardedPool(callersPool, queryTimeoutMs, prepare);
  const listening = new GuardedPool(callersPool, queryTimeoutMs, prepare);
  const { subscribe, wake } = createWakeUps({ callersPool, pool, listening, channel, clock: systemClock });
  const { version } = postgresVersion;
  const database: operations.PostgresDatabase = {
    pool,
    sql: postgresStatements(tables, version),
    now: () => settings.clock?.now() ?? null,
    requireUsable: () => requireUsable(pool, schema),
    wake,
  };
  const claimSize = new operations.ClaimSize();
  const { settle, fail } = operations.createEnds(database);
  // Receivers may share the inbox: each of them opens and closes it.
  let users = 0;

  const store: InboxStore<PostgresTransaction> = {
    ...postgresRecords({ database, tables, version }),
    durable: true,
    get isOpen() {
      return users > 0;
    },
    async open() {
      ignorePoolErrors(callersPool);
      users += 1;
      try {
        await openSchema(pool, { schema, migrate, lockKey: channel });
      } catch (error) {
        users -= 1;
        throw error;
      }
    },
    /** The pool belongs to the caller and stays open. */
    async close() {
      if (users === 0) return;
      users -= 1;
      if (users === 0) await pool.close();
    },
    insert: operations.createInsert(database),
    claim: (claimOptions) => operations.claimRows(database, claimSize, claimOptions),
    renew: (leases, leaseMs) => operations.renewLeases(database, leases, leaseMs),
    fail,
    begin: (items, { timeoutMs }) => new Transaction(database, { items, timeoutMs, settle }),
    subscribe,
  };
  return store;
}
