// A connection can die without a word: a cable, a NAT table, a machine that lost power. TCP notices after many minutes,
// and a query on it waits that long. So everything that the inbox asks of the pool has a time limit, independent of how
// the pool is configured.
//
// CLIENT. checked out ─► working ─► returned to the pool | destroyed. A client that does not respond within the limit is
// destroyed with its socket, and never returned: the pool would hand it out again. After that, other clients that have
// not responded for a while are destroyed as well instead of being used: what killed one connection mostly killed all,
// and each of them would cost another time limit.
//
// FAILOVER. A server that was demoted, or is being stopped, says so in its errors. None of the clients that are connected
// then is used again: most lead to the same server, and new ones to the one that the pool finds now. Idle ones are
// destroyed at once, also those that only other users of the pool have used, and those in use when they are released.
//
// SERVER. It may still execute what the client no longer waits for, and hold locks. Transactions of the inbox therefore
// limit themselves on the server, too. Single statements do so from the first time-out on until one succeeds: three
// messages in place of one would slow every commit down. They also do so where the database has a stricter isolation level
// by default.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { inSeries } from "@workspace-tasks/kernel/in-series.ts";
import { isReceiverError, ReceiverError } from "../../../errors.ts";
import { ownQuery } from "../sql/own-query.ts";
import { begin } from "../sql/postgres-expressions.ts";
import { asVersionError } from "../sql/postgres-functions.ts";
import type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
} from "../sql/postgres-pool.ts";
import { destroy } from "./destroy-client.ts";
import { type Limit, limited } from "./limited.ts";
import { isErrorOfOldPrimary, isFromServer, isShutDown } from "./server-errors.ts";

/** A client checked out of the pool. Its `query` is for the inbox's own statements. */
export interface PooledClient extends PostgresQueryable {
  /** For statements of handlers. */
  readonly client: PostgresClient;
  /** No statement can succeed on it. Its transaction, if there was one, may still be open at the server. */
  readonly isBroken: boolean;
  /** Returns the client to the pool, once; a client that had an error, or with `destroy`, is closed instead. */
  release(destroy?: boolean): void;
  /** Rolls back, then releases; destroys the client when that fails or takes long. */
  rollBack(): Promise<void>;
  /** Settles as `work` does; when that takes longer than the limit, destroys the client and rejects. */
  within<Result>(work: Promise<Result>, limitMs?: number): Promise<Result>;
  /** The same for a transaction of a handler: that it is read-only says nothing about the server. */
  withinForHandler<Result>(work: Promise<Result>): Promise<Result>;
}

export interface BoundedPool extends PostgresQueryable {
  /** Asks what the database does by default. Before the first query. */
  open(): Promise<void>;
  query(text: string, values?: unknown[], limitMs?: number): Promise<PostgresResult>;
  /** Runs `work` in one transaction, after the statement `first`; an error rolls back and is thrown. */
  transaction<Result>(
    first: string,
    work: (client: PostgresQueryable) => Promise<Result>,
    limitMs?: number,
  ): Promise<Result>;
  checkOut(limitMs?: number): Promise<PooledClient>;
  /** Destroys the clients that are still checked out and those of the pool that do not respond. */
  close(): Promise<void>;
}

/** What is known of a pool; shared by all inboxes that use it. */
interface PoolHealth {
  /** Clients that have not responded since then are not used any more. */
  distrustedBeforeMs: number;
  /** Clients that were checked out before are not used any more. */
  failedOverAtMs: number;
  /** Statements that timed out and have not succeeded since. */
  readonly slow: Set<string>;
  /** A statement without a transaction has another isolation level than the inbox needs. */
  isStrict: boolean;
}

const healthOf = new WeakMap<PostgresPool, PoolHealth>();
const respondedAtMs = new WeakMap<PostgresClient, number>();
const rollbackLimitMs = 1_000;
const closeLimitMs = 500;
/** A pool of another package may return any number. */
const idleMax = 1_000;

/** The part of the client's limit after which the server ends the work itself, so that the client survives. */
const serverPart = 0.9;
const lockPart = 0.8;

/** @param defaultLimitMs for a client to be available, and again for it to respond */
export function boundPool(
  pool: PostgresPool,
  defaultLimitMs: number,
  clock: Clock = systemClock,
): BoundedPool {
  const health = healthOf.get(pool) ?? {
    distrustedBeforeMs: Number.NEGATIVE_INFINITY,
    failedOverAtMs: Number.NEGATIVE_INFINITY,
    slow: new Set<string>(),
    isStrict: false,
  };
  healthOf.set(pool, health);
  const checkedOut = new Set<PooledClient>();

  const onSilence = (limitMs: number) => {
    health.distrustedBeforeMs = clock.monotonic() - limitMs / 2;
    // At once, and not when they are needed: the pool closes idle clients in a way that waits for the other side.
    void forEachIdle((client) => (isTrusted(client) ? client.release() : destroy(client)));
  };
  const onFailover = () => {
    health.distrustedBeforeMs = clock.monotonic();
    health.failedOverAtMs = clock.monotonic();
    void forEachIdle(destroy);
  };
  // In series: those that one pass has checked out are idle again for the next one.
  const passes = inSeries();
  /** Checks out as many clients as the pool has idle ones, all at once. */
  const forEachIdle = (use: (client: PostgresClient) => unknown) =>
    passes(async () => {
      const count = Math.min(idleMax, Number((pool as { readonly idleCount?: unknown }).idleCount ?? 0));
      // Another user of the pool may take them first.
      const idle = () => connectWithin(pool, { limitMs: closeLimitMs, clock }, "0.5 s");
      await Promise.allSettled(Array.from({ length: count }, async () => use(await idle())));
    });
  const isTrusted = (client: PostgresClient) =>
    (respondedAtMs.get(client) ?? Number.POSITIVE_INFINITY) >= health.distrustedBeforeMs;

  const checkOut = async (limitMs = defaultLimitMs): Promise<PooledClient> => {
    const endsAtMs = clock.monotonic() + limitMs;
    for (;;) {
      const client = await connectWithin(
        pool,
        { limitMs: Math.max(1, endsAtMs - clock.monotonic()), clock },
        `${limitMs} ms (queryTimeoutMs is ${defaultLimitMs})`,
      );
      if (!isTrusted(client)) {
        destroy(client);
        continue;
      }
      const checkedOutAtMs = clock.monotonic();
      const pooled = toPooledClient(client, {
        limitMs: defaultLimitMs,
        clock,
        isOfOldPrimary: () => checkedOutAtMs <= health.failedOverAtMs,
        onSilence,
        onFailover,
        onReleased,
      });
      checkedOut.add(pooled);
      return pooled;
    }
  };
  let onAllReleased = () => {};
  const onReleased = (pooled: PooledClient) => {
    checkedOut.delete(pooled);
    if (checkedOut.size === 0) onAllReleased();
  };

  return {
    checkOut,
    async open() {
      const { rows } = await this.query("SELECT current_setting('default_transaction_isolation') AS level");
      health.isStrict = /serializable|repeatable/.test(String(rows[0]?.["level"]));
    },
    async query(text, values, limitMs = defaultLimitMs) {
      if (health.isStrict || health.slow.has(text)) {
        const result = await this.transaction("", (client) => client.query(text, values), limitMs);
        health.slow.delete(text);
        return result;
      }
      const pooled = await checkOut(limitMs);
      try {
        const result = await pooled.within(pooled.query(text, values), limitMs);
        pooled.release();
        return result;
      } catch (error) {
        if (isReceiverError(error, "INBOX_UNAVAILABLE")) health.slow.add(text);
        pooled.release(!isFromServer(error));
        throw error;
      }
    },
    async transaction(first, work, limitMs = defaultLimitMs) {
      const pooled = await checkOut(limitMs);
      const run = async () => {
        await pooled.query(limitedBegin(limitMs, first));
        const result = await work(pooled);
        await pooled.query("COMMIT");
        return result;
      };
      try {
        const result = await pooled.within(run(), limitMs);
        pooled.release();
        return result;
      } catch (error) {
        await pooled.rollBack();
        throw error;
      }
    },
    async close() {
      if (checkedOut.size > 0) {
        const released = new Promise<void>((resolve) => {
          onAllReleased = resolve;
        });
        const late = () => unavailable("closed");
        await limited(released, { limitMs: closeLimitMs, clock }, late).catch(() => undefined);
      }
      for (const pooled of [...checkedOut]) pooled.release(true);
      await forEachIdle((client) => checkIdle(client, clock));
    },
  };
}

/** One message: the limits hold for all that follows in the transaction. */
function limitedBegin(limitMs: number, first = ""): string {
  const serverMs = Math.max(1, Math.ceil(limitMs * serverPart));
  return `${begin}; SET LOCAL statement_timeout = ${serverMs};
    SET LOCAL idle_in_transaction_session_timeout = ${serverMs};
    SET LOCAL lock_timeout = ${Math.max(1, Math.ceil(limitMs * lockPart))}; ${first}`;
}

/** A client that arrives after the limit is returned to the pool at once. */
function connectWithin(pool: PostgresPool, limit: Limit, reported: string): Promise<PostgresClient> {
  const pending = pool.connect();
  return limited(pending, limit, () => {
    pending.then(
      (client) => client.release(),
      () => {},
    );
    return unavailable(`no client of the pool was available within ${reported}`);
  });
}

interface ClientHooks extends Limit {
  isOfOldPrimary(): boolean;
  onSilence(limitMs: number): void;
  onFailover(): void;
  onReleased(pooled: PooledClient): void;
}

function toPooledClient(client: PostgresClient, hooks: ClientHooks): PooledClient {
  const { limitMs, clock, isOfOldPrimary, onSilence, onFailover, onReleased } = hooks;
  let isBroken = false;
  let isReleased = false;
  // An `error` event without a listener would end the process.
  const onError = () => {
    isBroken = true;
  };
  client.on("error", onError);
  const within = async <Result>(
    work: Promise<Result>,
    workLimitMs: number,
    isOfInbox: boolean,
  ): Promise<Result> => {
    watchReplication(client);
    const result = await limited(work, { limitMs: workLimitMs, clock }, () => {
      pooled.release(true);
      onSilence(workLimitMs);
      return unavailable(`no response in ${workLimitMs} ms (queryTimeoutMs is ${limitMs}), outcome unknown`);
    }).catch((error: unknown) => {
      if (isOfInbox ? isErrorOfOldPrimary(error) : isShutDown(error)) {
        isBroken = true;
        // One of the old primary's that ends later says nothing about the clients of the new one.
        if (isOfInbox && !isOfOldPrimary()) onFailover();
      }
      throw asVersionError(error);
    });
    respondedAtMs.set(client, clock.monotonic());
    if (unreplicated.delete(client))
      throw unavailable("the wait for a standby was cancelled, so a commit may be on the primary only");
    return result;
  };
  const pooled: PooledClient = {
    client,
    query: (text, values) => ownQuery(client, text, values),
    get isBroken() {
      return isBroken;
    },
    release(wanted = false) {
      if (isReleased) return;
      isReleased = true;
      isBroken ||= wanted || isOfOldPrimary();
      onReleased(pooled);
      client.removeListener("error", onError);
      if (isBroken) return destroy(client);
      client.release();
    },
    async rollBack() {
      if (isReleased) return;
      await pooled.within(pooled.query("ROLLBACK"), rollbackLimitMs).then(
        () => pooled.release(),
        () => pooled.release(true),
      );
    },
    within: (work, workLimitMs = limitMs) => within(work, workLimitMs, true),
    withinForHandler: (work) => within(work, limitMs, false),
  };
  return pooled;
}

async function checkIdle(client: PostgresClient, clock: Clock): Promise<void> {
  const silent = () => unavailable("an idle client of the pool did not respond");
  await limited(ownQuery(client, "SELECT 1"), { limitMs: closeLimitMs, clock }, silent).then(
    () => client.release(),
    () => destroy(client),
  );
}

const watched = new WeakSet<PostgresClient>();
const unreplicated = new WeakSet<PostgresClient>();

/**
 * A commit whose wait for its synchronous standbys is cancelled succeeds, with a warning. It would be lost with the
 * primary. The warning has no code of its own and its text is translated; the function that it comes from is not.
 */
function watchReplication(client: PostgresClient): void {
  if (watched.has(client)) return;
  watched.add(client);
  client.on("notice", (notice) => {
    if (notice?.routine === "SyncRepWaitForLSN") unreplicated.add(client);
  });
}

const unavailable = (message: string) => new ReceiverError("INBOX_UNAVAILABLE", `postgres inbox: ${message}`);
