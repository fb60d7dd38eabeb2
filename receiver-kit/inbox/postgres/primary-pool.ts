// A pool for several servers of which one is the primary. pg's own pool has one address; where a proxy or a virtual address
// follows the primary, that is enough.
//
// A new client is asked once whether its server is writable; clients of the pool that are used again are not. A server that
// is demoted ends its connections, or rejects the inbox's statements as read-only; the inbox then destroys the client.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { clock, refine, strictOptions, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../../errors.ts";
import { parseOptions } from "../../options.ts";
import { availableWithin, destroy, requireWritable } from "./guarded-pool.ts";
import { ignoreClientErrors, type PostgresClient, type PostgresPool } from "./postgres-pool.ts";

export interface PrimaryPoolOptions {
  readonly clock?: Clock | undefined;
}

/** What a pool of `pg` has besides, for statistics. */
interface CountedPool extends PostgresPool {
  readonly idleCount?: number;
  readonly totalCount?: number;
  readonly waitingCount?: number;
  readonly options?: { readonly max?: number };
}

const poolsOption = refine<readonly PostgresPool[]>(
  "an array of pools of the package pg",
  (given) =>
    Array.isArray(given) &&
    given.length > 0 &&
    given.every((pool) => typeof (pool as Partial<PostgresPool> | null)?.connect === "function"),
);

/** How long one server may take to connect and respond before the next one is asked. */
const connectTimeoutMs = 1_500;

const primaryPoolOptions = strictOptions<PrimaryPoolOptions>()({
  clock: withDefault(clock, systemClock),
});

/**
 * A pool whose clients are connected to the primary: one pool per server, each with a `connectionTimeoutMillis`. After a
 * failover `connect` finds the new primary; nothing needs a restart. A server that does not respond within 1.5 s is
 * skipped. The pools belong to the caller, who ends them.
 *
 * @example examples/receiver-kit.test.ts#failover
 * ```ts
 * const hosts = ["db1.internal", "db2.internal", "db3.internal"];
 * const pools = hosts.map((host) => new pg.Pool({ host, max: 14, connectionTimeoutMillis: 1_500 }));
 * const inbox = postgresInbox(primaryPool(pools));
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function primaryPool(pools: readonly PostgresPool[], options: PrimaryPoolOptions = {}): PostgresPool {
  parseOptions("primaryPool: pools", poolsOption, pools);
  const { clock } = parseOptions("primaryPool", primaryPoolOptions, options);
  const writable = new WeakSet<PostgresClient>();
  let current = 0;
  const currentPool = () => pools[current] as CountedPool;

  /** A client of this server, or why it is not the primary. */
  const connectTo = async (pool: PostgresPool): Promise<PostgresClient> => {
    const client = await pool.connect();
    if (writable.has(client)) return client;
    ignoreClientErrors(client);
    try {
      // It would be in use until the network reports that it is lost, and the pool could not end.
      await requireWritable(client, connectTimeoutMs, clock);
    } catch (error) {
      destroy(client);
      throw error;
    }
    writable.add(client);
    return client;
  };
  const connectWithin = (pool: PostgresPool) => {
    const connecting = connectTo(pool);
    // It waits for a client that is in use, which says nothing about the server.
    if (isFull(pool)) return connecting;
    return availableWithin(connecting, connectTimeoutMs, clock, `no response within ${connectTimeoutMs} ms`);
  };

  return {
    async connect() {
      const first = current;
      const errors: unknown[] = [];
      for (let tried = 0; tried < pools.length; tried++) {
        const index = (first + tried) % pools.length;
        try {
          const client = await connectWithin(pools[index] as PostgresPool);
          current = index;
          return client;
        } catch (error) {
          errors.push(error);
          // The next call, which may begin before this one ends, starts with the next server.
          if (current === index) current = (index + 1) % pools.length;
        }
      }
      const cause = new AggregateError(errors, "primaryPool: no server is the primary");
      throw new ReceiverError("INBOX_UNAVAILABLE", cause.message, { cause });
    },
    on: (event, listener) => pools.map((pool) => pool.on?.(event, listener)),
    /** The idle clients of the server in use. */
    get idleCount() {
      return currentPool().idleCount ?? 0;
    },
    get totalCount() {
      return currentPool().totalCount ?? 0;
    },
    get waitingCount() {
      return currentPool().waitingCount ?? 0;
    },
  } as CountedPool;
}

const isFull = ({ idleCount = 0, totalCount = 0, options }: CountedPool) =>
  idleCount === 0 && totalCount >= (options?.max ?? Number.POSITIVE_INFINITY);
