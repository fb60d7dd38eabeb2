import { ConfigurationError } from "../errors.ts";
import {
  durationMs,
  objectWith,
  optional,
  parse,
  strictObject,
  string,
  withDefault,
} from "../validation/schema.ts";
import { createBoundedQuery, type PostgresPool, type Query } from "./bounded-query.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";

// One row per key, with when permits were granted in the last window and how many. Each statement changes one row, which
// `on conflict` locks and reads in its latest version, so that processes never grant the same permit. The database's clock
// is the only clock. Nothing depends on a process that has ended: what it was granted counts for one window.

export interface PostgresRateLimitStoreOptions {
  /** Schema of the table. Default: the first of the connection's search path. */
  readonly schema?: string | undefined;
  /** How long a client of the pool may take to be available, and then to respond. Default 4,000. */
  readonly queryTimeoutMs?: number | undefined;
}

const storeOptions = strictObject({
  schema: optional(string),
  queryTimeoutMs: withDefault(durationMs, 4_000),
});

const poolArgument = objectWith<PostgresPool>("connect");

const undefinedTable = "42P01";

/**
 * Lets processes that use one API key share its rate limit through PostgreSQL 9.5 or newer. Takes a pool of the package
 * `pg`; pass the result as `rateLimit.store`. Beyond the interface.
 *
 * Creates the table `workspace_tasks_rate_limit` on first use. Stores hashes of keys, never a key. The pool stays yours: it
 * is not closed. Give it a `connectionTimeoutMillis`; a client that does not respond is destroyed.
 *
 * @example examples/sdk.test.ts#rate-limit-store
 * ```ts
 * const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
 * const client = createClient({ baseUrl, apiKey, rateLimit: { store: postgresRateLimitStore(pool) } });
 * ```
 */
export function postgresRateLimitStore(
  pool: PostgresPool,
  options: PostgresRateLimitStoreOptions = {},
): RateLimitStore {
  const { schema, queryTimeoutMs } = parse(
    storeOptions,
    options,
    ({ message }) => new ConfigurationError(`postgresRateLimitStore: ${message}`),
  );
  parse(
    poolArgument,
    pool,
    ({ message }) =>
      new ConfigurationError(`postgresRateLimitStore: pool: ${message}; pass a Pool of the package pg`),
  );
  const ofPool = stores.get(pool) ?? new Map<string, RateLimitStore>();
  stores.set(pool, ofPool);
  const name = JSON.stringify([schema, queryTimeoutMs]);
  const store = ofPool.get(name) ?? createStore(createBoundedQuery(pool, queryTimeoutMs), schema);
  ofPool.set(name, store);
  return store;
}

// Clients of one key pass the same store. Two stores of one pool are the same, wherever they are created.
const stores = new WeakMap<PostgresPool, Map<string, RateLimitStore>>();

function createStore(query: Query, schema: string | undefined): RateLimitStore {
  const sql = statements(schema === undefined ? "" : `"${schema.replaceAll('"', '""')}".`);

  async function run(text: string, values: unknown[]): Promise<readonly unknown[]> {
    try {
      return await query(text, values);
    } catch (error) {
      if (fieldOf(error, "code") !== undefinedTable) throw error;
      await query(sql.createTable);
      return query(text, values);
    }
  }

  return {
    async acquire({ key, limit, count, windowMs }) {
      const [row] = await run(sql.acquire, [key, limit, count, windowMs]);
      return { granted: numberIn(row, "granted"), retryInMs: Math.max(0, numberIn(row, "retry_ms")) };
    },
    async block(key, durationMs) {
      await run(sql.block, [key, durationMs]);
    },
  };
}

function statements(prefix: string) {
  const table = `${prefix}workspace_tasks_rate_limit`;
  const milliseconds = (parameter: string) => `${parameter}::float8 * interval '1 millisecond'`;
  return {
    // Without the lock two processes that start together collide inside `create table if not exists`. Any role can hold
    // it, so it is waited for briefly.
    createTable: `
      begin;
      set local lock_timeout = 3000;
      select pg_advisory_xact_lock(hashtext('workspace-tasks rate limit table'));
      create table if not exists ${table} (
        key_hash text primary key,
        blocked_until timestamptz not null default '-infinity',
        granted_at timestamptz[] not null default '{}',
        permits integer[] not null default '{}'
      );
      commit;`,
    // The last permits are those of this statement, 0 of them if none are free.
    acquire: `
      insert into ${table} as existing (key_hash, granted_at, permits)
      values ($1, array[clock_timestamp()], array[least($3::integer, $2::integer)])
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
      values ($1, clock_timestamp() + ${milliseconds("$2")})
      on conflict (key_hash)
      do update set blocked_until = greatest(existing.blocked_until, excluded.blocked_until)`,
  };
}

function numberIn(row: unknown, name: string): number {
  const value = Number(fieldOf(row, name));
  if (Number.isNaN(value)) throw new Error(`expected a number in column ${name} of the rate limit store`);
  return value;
}

function fieldOf(row: unknown, name: string): unknown {
  return typeof row === "object" && row !== null ? Reflect.get(row, name) : undefined;
}
