import * as s from "@workspace-tasks/kernel/schema.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { type PostgresTableOptions, postgresTable } from "../postgres-table.ts";
import type { RateLimitStore } from "./shared-permits.ts";

// One row per key, with when permits were granted in the last window and how many. Each statement changes one row, which
// `on conflict` locks and reads in its latest version, so that processes never grant the same permit. The database's clock
// is the only clock. Nothing depends on a process that has ended: what it was granted counts for one window.

// A connection can die without a word, so every query has a time limit, after which pg destroys the client. The server
// stops to wait for a lock before that: each repetition would add a connection that waits.

/** The method of pg's pool that the store uses. */
export interface PostgresPool {
  query(config: PostgresQuery): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** Milliseconds. */
  readonly query_timeout: number;
}

// Below the limit of the SDK for a store, whose error says less.
const queryTimeoutMs = 4_000;
const lockTimeoutMs = 3_000;

const poolArgument = s.objectWith<PostgresPool>("a pool with query", "query");

const columns = `
  key_hash text primary key,
  blocked_until timestamptz not null default '-infinity',
  granted_at timestamptz[] not null default '{}',
  permits integer[] not null default '{}'`;

// The limit holds for the rest of the statement.
const withLockTimeout = `set_config('lock_timeout', '${lockTimeoutMs}', true)`;
const milliseconds = (parameter: string) => `${parameter}::float8 * interval '1 millisecond'`;
const statementsOf = (table: string) => ({
  // The last permits are those of this statement, 0 of them if none are free.
  acquire: `
    insert into ${table} as existing (key_hash, granted_at, permits)
    select $1, array[clock_timestamp()], array[least($3::integer, $2::integer)] from ${withLockTimeout}
    on conflict (key_hash) do update set (granted_at, permits) = (
      select array_agg(granted_at) || min(now), array_agg(permits) || case
        when existing.blocked_until > min(now) then 0
        else greatest(0, least($3::integer, $2::integer - coalesce(sum(permits), 0)))::integer
      end
      from (select clock_timestamp() as now) as clock
      left join unnest(existing.granted_at, existing.permits) as granted(granted_at, permits)
        on permits > 0 and granted_at > now - ${milliseconds("$4")}
    )
    returning permits[cardinality(permits)] as granted, 1000 * extract(epoch from greatest(
      blocked_until,
      (select min(at) from unnest(granted_at, permits) as each(at, count) where count > 0) + ${milliseconds("$4")}
    ) - clock_timestamp())::float8 as retry_ms`,
  block: `
    insert into ${table} as existing (key_hash, blocked_until)
    select $1, clock_timestamp() + ${milliseconds("$2")} from ${withLockTimeout}
    on conflict (key_hash)
    do update set blocked_until = greatest(existing.blocked_until, excluded.blocked_until)`,
});

/**
 * Lets processes that use one API key share its rate limit through PostgreSQL 9.5 or newer. Takes a pool of the package
 * `pg`; pass the result as `rateLimit.store`. Beyond the interface.
 *
 * Creates the schema and in it the table `rate_limit` on first use; what another role owns is not used: `CONFIGURATION_INVALID`,
 * as the cause of `RATE_LIMIT_STORE_FAILED`. Stores hashes of keys, never a key. The pool stays yours: it is not closed. Give it a `connectionTimeoutMillis`. A query takes 4 s at
 * most, after which its client is destroyed.
 */
export function postgresRateLimitStore(
  pool: PostgresPool,
  options: PostgresTableOptions = {},
): RateLimitStore {
  s.parse(
    poolArgument,
    pool,
    ({ message }) =>
      new WorkspaceTasksError(
        "CONFIGURATION_INVALID",
        `postgresRateLimitStore: pool: ${message}; pass a Pool of the package pg`,
      ),
  );

  const table = postgresTable("postgresRateLimitStore", "rate_limit", columns, options, lockTimeoutMs);
  const sql = statementsOf(table.name);
  let prepared: Promise<void> | undefined;

  async function query(text: string, values?: unknown[]) {
    const { rows } = await pool.query({ text, ...(values && { values }), query_timeout: queryTimeoutMs });
    return rows as readonly Record<string, unknown>[];
  }

  async function run(text: string, values: unknown[]) {
    prepared ??= table.prepare(query);
    try {
      await prepared;
      return await query(text, values);
    } catch (error) {
      // The table may have been removed.
      prepared = undefined;
      throw error;
    }
  }

  return {
    async acquire({ key, limit, count, windowMs }) {
      const [row] = await run(sql.acquire, [key, limit, count, windowMs]);
      return { granted: Number(row?.["granted"]), retryInMs: Number(row?.["retry_ms"]) };
    },
    async block(key, durationMs) {
      await run(sql.block, [key, durationMs]);
    },
  };
}
