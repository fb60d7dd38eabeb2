// Receivers that share a pool and a schema share one listening client, however many they are: a client each would take
// the whole pool.
//
// CONNECTION. connecting ─► listening ─► lost ─► (after a second) connecting … ─► closed, with the last subscriber. A
// connection that takes longer than `stepTimeoutMs` to connect, to start listening or to respond to a check is lost: a
// peer that disappeared without closing the connection would otherwise never be noticed. Meanwhile rows are found by
// polling, so that no subscriber waits for it.

import type { Clock } from "../../clock.ts";
import { withTimeout } from "../../with-timeout.ts";
import { checkOutClient, type PooledClient, type PostgresPool } from "./postgres-pool.ts";

/** Called with the source of rows that may be claimable; without one after a reconnection, which may have missed some. */
export type Wake = (source?: string) => void;

export interface ListenerOptions {
  readonly pool: PostgresPool;
  /** A plain identifier. */
  readonly channel: string;
  readonly clock: Clock;
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
  readonly #onClosed: () => void;
  readonly #subscribers = new Map<symbol, Wake>();
  #connected: Promise<void> | undefined;
  #current: PooledClient | undefined;
  #closed = false;
  #cancelNext = () => {};

  constructor(options: ListenerOptions, onClosed: () => void) {
    this.#options = options;
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
      const pooled = await this.#checkOut();
      if (this.#closed) return pooled.release(true);
      this.#current = pooled;
      const onLost = () => this.#reconnectLater(pooled);
      pooled.client.on("notification", (message?: { readonly payload?: string }) =>
        this.#wakeAll(message?.payload || undefined),
      );
      pooled.client.on("end", onLost);
      pooled.client.on("error", onLost);
      await this.#query(pooled, `LISTEN ${channel}`);
      this.#wakeAll();
      this.#checkLater(pooled);
    } catch {
      // The server cannot be reached; polling continues meanwhile.
      this.#reconnectLater(this.#current);
    }
  }

  /** A client that arrives after the time limit is returned to the pool at once. */
  async #checkOut(): Promise<PooledClient> {
    const pending = checkOutClient(this.#options.pool);
    let timedOut = false;
    const late = () => {
      timedOut = true;
      return new Error(`no client of the pool was free within ${stepTimeoutMs} ms`);
    };
    pending.then(
      (pooled) => timedOut && pooled.release(),
      () => {},
    );
    return withTimeout(pending, stepTimeoutMs, this.#options.clock, late);
  }

  #query({ client }: PooledClient, statement: string) {
    const silent = () => new Error(`no response to ${statement} within ${stepTimeoutMs} ms`);
    return withTimeout(client.query(statement), stepTimeoutMs, this.#options.clock, silent);
  }

  #checkLater(pooled: PooledClient): void {
    if (this.#current !== pooled) return;
    const check = () => {
      this.#query(pooled, "SELECT 1").then(
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
const stepTimeoutMs = 5_000;
const checkEveryMs = 15_000;
