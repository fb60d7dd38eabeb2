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
import type { AcquiredSlot, RateLimitStore } from "./rate-limit-store.ts";

// One row per slot. Acquiring a slot moves its `free_at` past the lease, releasing it moves `free_at` to one window after
// the response. `skip locked` lets processes acquire different rows at once, and the database's clock is the only
// clock. `fence` is incremented by each acquisition, so a process whose lease ended cannot release the next one's slot.

export interface PostgresRateLimitStoreOptions {
  /** Schema of the two tables. Default: the first of the connection's search path. */
  readonly schema?: string | undefined;
  /** How long a client of the pool may take to be available, and then to respond. Default 4,000. */
  readonly queryTimeoutMs?: number | undefined;
}

const storeOptions = strictObject({
  schema: optional(string),
  queryTimeoutMs: withDefault(durationMs, 4_000),
});

const poolArgument = objectWith<PostgresPool>("connect");

// Another process may release an unused slot before the end of its lease.
const retryMsMax = 1_000;

/**
 * Lets processes that use one API key share its rate limit through PostgreSQL 9.5 or newer. Takes a pool of the package
 * `pg`; pass the result as `rateLimit.store`. Beyond the interface.
 *
 * Creates the tables `workspace_tasks_rate_limit_slot` and `workspace_tasks_rate_limit_block` on first use. Stores
 * hashes of keys, never a key. The pool stays yours: it is not closed. Give it a `connectionTimeoutMillis`; a client that
 * does not respond is destroyed.
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
  const prepared = new Map<string, Promise<unknown>>();

  // Remembered per key and limit, and forgotten after a failure, so that the next call tries again.
  async function prepare(key: string, limit: number): Promise<void> {
    const name = `${key} ${limit}`;
    const createAll = async () => {
      const [tables] = await query(sql.findTables);
      if (!fieldOf(tables, "exist")) await query(sql.createTables);
      await query(sql.createSlots, [key, limit]);
    };
    const preparing = prepared.get(name) ?? createAll();
    prepared.set(name, preparing);
    try {
      await preparing;
    } catch (error) {
      prepared.delete(name);
      throw error;
    }
  }

  return {
    async acquire({ key, limit, count, leaseMs }) {
      await prepare(key, limit);
      const slots = (await query(sql.acquire, [key, limit, count, leaseMs])).map(readSlot);
      if (slots.length >= count) return { slots, retryInMs: 0 };
      const [row] = await query(sql.nextFree, [key, limit]);
      return { slots, retryInMs: Math.min(retryMsMax, Math.max(0, numberIn(row, "wait_ms"))) };
    },
    async release(key, slots) {
      await query(sql.release, [
        key,
        slots.map(({ slot }) => slot),
        slots.map(({ fence }) => fence),
        slots.map(({ freeInMs }) => freeInMs),
      ]);
    },
    async block(key, durationMs) {
      await query(sql.block, [key, durationMs]);
    },
  };
}

function statements(prefix: string) {
  const slots = `${prefix}workspace_tasks_rate_limit_slot`;
  const blocks = `${prefix}workspace_tasks_rate_limit_block`;
  return {
    findTables: `select to_regclass(${literal(slots)}) is not null and to_regclass(${literal(blocks)}) is not null as exist`,
    // Without the lock two processes that start together collide inside `create table if not exists`. Any role can hold
    // it, so it is waited for briefly, and only while the tables do not exist.
    createTables: `
      begin;
      set local lock_timeout = 3000;
      select pg_advisory_xact_lock(hashtext('workspace-tasks rate limit tables'));
      create table if not exists ${slots} (
        key_hash text not null, slot integer not null,
        free_at timestamptz not null, fence bigint not null,
        primary key (key_hash, slot)
      );
      create table if not exists ${blocks} (key_hash text primary key, blocked_until timestamptz not null);
      commit;`,
    createSlots: `
      insert into ${slots} (key_hash, slot, free_at, fence)
      select $1, slot, '-infinity', 0 from generate_series(1, $2::integer) as slot
      on conflict do nothing`,
    acquire: `
      update ${slots} as acquired
      set free_at = clock_timestamp() + $4::float8 * interval '1 millisecond', fence = acquired.fence + 1
      from (
        select slot from ${slots}
        where key_hash = $1 and slot <= $2::integer and free_at <= clock_timestamp()
          and not exists (
            select from ${blocks} where key_hash = $1 and blocked_until > clock_timestamp()
          )
        order by free_at limit $3::integer for update skip locked
      ) as free
      where acquired.key_hash = $1 and acquired.slot = free.slot
      returning acquired.slot, acquired.fence::text as fence`,
    nextFree: `
      select 1000 * extract(epoch from greatest(
        (select min(free_at) from ${slots} where key_hash = $1 and slot <= $2::integer),
        (select blocked_until from ${blocks} where key_hash = $1),
        clock_timestamp()
      ) - clock_timestamp())::float8 as wait_ms`,
    release: `
      update ${slots} as acquired
      set free_at = clock_timestamp() + released.free_in_ms * interval '1 millisecond'
      from unnest($2::integer[], $3::bigint[], $4::float8[]) as released(slot, fence, free_in_ms)
      where acquired.key_hash = $1 and acquired.slot = released.slot and acquired.fence = released.fence`,
    block: `
      insert into ${blocks} as existing (key_hash, blocked_until)
      values ($1, clock_timestamp() + $2::float8 * interval '1 millisecond')
      on conflict (key_hash)
      do update set blocked_until = greatest(existing.blocked_until, excluded.blocked_until)`,
  };
}

const literal = (name: string) => `'${name.replaceAll("'", "''")}'`;

function readSlot(row: unknown): AcquiredSlot {
  return { slot: numberIn(row, "slot"), fence: String(fieldOf(row, "fence")) };
}

function numberIn(row: unknown, name: string): number {
  const value = Number(fieldOf(row, name));
  if (Number.isNaN(value)) throw new Error(`expected a number in column ${name} of the rate limit store`);
  return value;
}

function fieldOf(row: unknown, name: string): unknown {
  return typeof row === "object" && row !== null ? Reflect.get(row, name) : undefined;
}
