// Receivers that share a pool and a schema share one listening client, however many they are: a client each would take
// the whole pool.
//
// CONNECTION. connecting ─► listening ─► lost ─► (after a second) connecting … ─► closed, with the last subscriber. A
// connection that takes longer than the pool's limit to connect, to start listening or to respond to a check is lost.
// Meanwhile rows are found by polling, so that no subscriber waits for it.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { PostgresPool } from "../sql/postgres-pool.ts";
import { type BoundedPool, boundPool, type PooledClient } from "./bounded-pool.ts";

/** Called with the source of rows that may be claimable; without one after a reconnection, which may have missed some. */
export type Wake = (source?: string) => void;

export interface ListenerOptions {
  readonly pool: PostgresPool;
  /** A plain identifier. */
  readonly channel: string;
  readonly clock: Clock;
  readonly queryTimeoutMs: number;
}

const listeners = new WeakMap<PostgresPool, Map<string, SharedListener>>();

/** Calls `wake` at notifications on `channel`, until the returned function is called. */
export async function listenForRows(options: ListenerOptions, wake: Wake): Promise<() => Promise<void>> {
  const { pool, channel } = options;
  const ofPool = listeners.get(pool) ?? new Map<string, SharedListener>();
  listeners.set(pool, ofPool);
  const listener = ofPool.get(channel) ?? new SharedListener(options, () => ofPool.delete(channel));
  ofPool.set(channel, listener);
  return listener.subscribe(wake);
}

class SharedListener {
  readonly #options: ListenerOptions;
  readonly #pool: BoundedPool;
  readonly #onClosed: () => void;
  readonly #subscribers = new Map<symbol, Wake>();
  #connected: Promise<void> | undefined;
  #current: PooledClient | undefined;
  #closed = false;
  #cancelNext = () => {};

  constructor(options: ListenerOptions, onClosed: () => void) {
    this.#options = options;
    // Not that of the first subscriber's inbox, which destroys its clients when it is closed.
    this.#pool = boundPool(options.pool, options.queryTimeoutMs, options.clock);
    this.#onClosed = onClosed;
  }

  async subscribe(wake: Wake): Promise<() => Promise<void>> {
    const subscriber = Symbol("subscriber");
    this.#subscribers.set(subscriber, wake);
    this.#connected ??= this.#connect();
    await this.#connected;
    return async () => {
      if (this.#subscribers.delete(subscriber) && this.#subscribers.size === 0) this.#close();
    };
  }

  #close(): void {
    this.#closed = true;
    this.#onClosed();
    this.#cancelNext();
    this.#release();
  }

  #release(): void {
    this.#current?.release(true);
    this.#current = undefined;
  }

  #wakeAll(source?: string): void {
    for (const wake of this.#subscribers.values()) wake(source);
  }

  /** Never rejects. */
  async #connect(): Promise<void> {
    const { channel } = this.#options;
    try {
      const pooled = await this.#pool.checkOut();
      if (this.#closed) return pooled.release(true);
      this.#current = pooled;
      const onLost = () => this.#reconnectLater(pooled);
      pooled.client.on("notification", (message?: { readonly payload?: string }) =>
        this.#wakeAll(message?.payload || undefined),
      );
      pooled.client.on("end", onLost);
      pooled.client.on("error", onLost);
      await pooled.within(pooled.query(`LISTEN ${channel}`));
      this.#wakeAll();
      this.#checkLater(pooled);
    } catch {
      // The server cannot be reached; polling continues meanwhile.
      this.#reconnectLater(this.#current);
    }
  }

  #checkLater(pooled: PooledClient): void {
    if (this.#current !== pooled) return;
    const check = () => {
      pooled.within(pooled.query("SELECT 1")).then(
        () => this.#checkLater(pooled),
        () => this.#reconnectLater(pooled),
      );
    };
    this.#cancelNext = this.#options.clock.schedule(checkEveryMs, check, { background: true });
  }

  #reconnectLater(lost: PooledClient | undefined): void {
    if (this.#closed || this.#current !== lost) return;
    this.#release();
    this.#cancelNext();
    const connect = () => void this.#connect();
    this.#cancelNext = this.#options.clock.schedule(retryMs, connect, { background: true });
  }
}

const retryMs = 1_000;
const checkEveryMs = 15_000;
