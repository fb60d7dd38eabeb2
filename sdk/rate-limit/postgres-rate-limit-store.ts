import type { AcquiredSlot, RateLimitStore } from "./rate-limit-store.ts";

/**
 * An allowance as rows of PostgreSQL, one per slot. A row is taken by moving its `free_at` past the lease and given
 * back by moving it to one window after the answer; `skip locked` lets processes take different rows at once, and the
 * database's clock is the only clock. `fence` grows with each taking, so a holder that outlived its lease cannot free
 * the slot of the next one.
 */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface PostgresRateLimitStoreOptions {
  /** Where the two tables live, created on first use. Default: the connection's search path. */
  readonly schema?: string | undefined;
}

// Another process may give an unused slot back before the time its lease says.
const askAgainMsMax = 1_000;

/**
 * Lets processes that use one API key share its allowance through PostgreSQL 9.5 or newer. Takes a pool of the package
 * `pg`, or anything with its `query`; pass the result as `rateLimit.store`. Lies beyond the interface.
 *
 * Creates the tables `workspace_tasks_allowance_slot` and `workspace_tasks_allowance_block` on first use. Stores
 * hashes of keys, never a key. The pool stays yours: it is not closed.
 */
export function postgresRateLimitStore(
  pool: PostgresPool,
  { schema }: PostgresRateLimitStoreOptions = {},
): RateLimitStore {
  const prefix = schema === undefined ? "" : `"${schema.replaceAll('"', '""')}".`;
  const sql = statements(
    `${prefix}workspace_tasks_allowance_slot`,
    `${prefix}workspace_tasks_allowance_block`,
  );
  const prepared = new Map<string, Promise<unknown>>();
  let tables: Promise<unknown> | undefined;

  // Remembered per allowance, and forgotten when it failed so that the next call tries again.
  async function prepare(key: string, limit: number): Promise<void> {
    const name = `${key} ${limit}`;
    let preparing = prepared.get(name);
    if (!preparing) {
      tables ??= pool.query(sql.createTables);
      preparing = tables.then(() => pool.query(sql.createSlots, [key, limit]));
      prepared.set(name, preparing);
    }
    try {
      await preparing;
    } catch (error) {
      tables = undefined;
      prepared.delete(name);
      throw error;
    }
  }

  return {
    async acquire({ key, limit, count, leaseMs }) {
      await prepare(key, limit);
      const taken = await pool.query(sql.take, [key, limit, count, leaseMs]);
      const slots = taken.rows.map(readSlot);
      if (slots.length >= count) return { slots, retryInMs: 0 };
      const [row] = (await pool.query(sql.nextFree, [key, limit])).rows;
      return { slots, retryInMs: Math.min(askAgainMsMax, Math.max(0, numberIn(row, "wait_ms"))) };
    },
    async release(key, slots) {
      await pool.query(sql.free, [
        key,
        slots.map(({ slot }) => slot),
        slots.map(({ fence }) => fence),
        slots.map(({ freeInMs }) => freeInMs),
      ]);
    },
    async block(key, durationMs) {
      await pool.query(sql.block, [key, durationMs]);
    },
  };
}

function statements(slots: string, blocks: string) {
  return {
    // Without the lock two processes that start together collide inside `create table if not exists`.
    createTables: `
      select pg_advisory_xact_lock(hashtext('workspace-tasks allowance tables'));
      create table if not exists ${slots} (
        allowance text not null, slot integer not null,
        free_at timestamptz not null, fence bigint not null,
        primary key (allowance, slot)
      );
      create table if not exists ${blocks} (allowance text primary key, blocked_until timestamptz not null);`,
    createSlots: `
      insert into ${slots} (allowance, slot, free_at, fence)
      select $1, slot, '-infinity', 0 from generate_series(1, $2::integer) as slot
      on conflict do nothing`,
    take: `
      update ${slots} as taken
      set free_at = clock_timestamp() + $4::float8 * interval '1 millisecond', fence = taken.fence + 1
      from (
        select slot from ${slots}
        where allowance = $1 and slot <= $2::integer and free_at <= clock_timestamp()
          and not exists (
            select from ${blocks} where allowance = $1 and blocked_until > clock_timestamp()
          )
        order by free_at limit $3::integer for update skip locked
      ) as free
      where taken.allowance = $1 and taken.slot = free.slot
      returning taken.slot, taken.fence::text as fence`,
    nextFree: `
      select 1000 * extract(epoch from greatest(
        (select min(free_at) from ${slots} where allowance = $1 and slot <= $2::integer),
        (select blocked_until from ${blocks} where allowance = $1),
        clock_timestamp()
      ) - clock_timestamp())::float8 as wait_ms`,
    free: `
      update ${slots} as held set free_at = clock_timestamp() + given.free_in_ms * interval '1 millisecond'
      from unnest($2::integer[], $3::bigint[], $4::float8[]) as given(slot, fence, free_in_ms)
      where held.allowance = $1 and held.slot = given.slot and held.fence = given.fence`,
    block: `
      insert into ${blocks} as known (allowance, blocked_until)
      values ($1, clock_timestamp() + $2::float8 * interval '1 millisecond')
      on conflict (allowance) do update set blocked_until = greatest(known.blocked_until, excluded.blocked_until)`,
  };
}

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
