// How a receiver hears of rows that others have stored. Receivers that share a pool are told directly; the others by
// NOTIFY, which names the source, so that only the receivers of that source poll. A lost notification only delays the row
// until the next poll.
//
// NOTIFY is sent on its own, after the commit: a transaction that notifies holds a lock of the whole server until it is on
// disk. Where a receiver of the pool listens itself, others hear of it at most every `pauseMs`.
//
// CONNECTION. Receivers that share a pool and a schema share one listening client, however many they are: a client each
// would take the whole pool. connecting ─► listening ─► lost ─► (after a second) connecting … ─► closed, with the last
// subscriber. A connection that takes longer than the pool's limit to connect, to start listening or to respond to a check
// is lost. Meanwhile rows are found by polling, so that no subscriber waits for it.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { randomName, systemRandom } from "@workspace-tasks/kernel/random.ts";
import type { GuardedClient, GuardedPool } from "./guarded-pool.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import { statement } from "./postgres-statements.ts";

/** Called with the source of rows that may be claimable; without one after a reconnection, which may have missed some. */
export type Wake = (source?: string) => void;

export interface WakeUps {
  /** Calls `wake` until the returned function is called. */
  subscribe(wake: Wake): Promise<() => Promise<void>>;
  /** Rows of a source may have become claimable. */
  wake(source: string): void;
}

export interface WakeUpsOptions {
  readonly callersPool: PostgresPool;
  /** The pool of the inbox, for notifications. */
  readonly pool: GuardedPool;
  /** Not the inbox's own, which destroys its clients when it is closed. */
  readonly listening: GuardedPool;
  /** A plain identifier. */
  readonly channel: string;
  readonly clock: Clock;
}

/** Of one pool, by channel. */
class PoolListeners extends Map<string, Listener> {
  /** So that they do not poll for what was said through their own pool. */
  readonly name = randomName(systemRandom);
}

const shared = new WeakMap<PostgresPool, PoolListeners>();

export function createWakeUps({ callersPool, pool, listening, channel, clock }: WakeUpsOptions): WakeUps {
  const ofPool = shared.get(callersPool) ?? new PoolListeners();
  shared.set(callersPool, ofPool);
  const waiting = new Set<string>();
  let isSending = false;

  const send = async () => {
    isSending = true;
    while (waiting.size > 0) {
      const names = [...waiting].map((source) => `${ofPool.name} ${source}`);
      waiting.clear();
      // Errors are ignored: the next poll finds the rows.
      await pool.run("claim", [[notify, [channel, names]]]).catch(() => undefined);
      if (ofPool.has(channel))
        await new Promise<void>((resolve) => void clock.schedule(pauseMs, resolve, { background: true }));
    }
    isSending = false;
  };
  return {
    subscribe(wake) {
      const listener = ofPool.get(channel) ?? new Listener(listening, channel, clock, ofPool);
      ofPool.set(channel, listener);
      return listener.subscribe(wake);
    },
    wake(source) {
      ofPool.get(channel)?.wakeAll(source);
      waiting.add(source);
      if (!isSending) void send();
    },
  };
}

const notify = statement("notify", "SELECT pg_notify($1::text, source) FROM unnest($2::text[]) AS source");

class Listener {
  readonly #pool: GuardedPool;
  readonly #channel: string;
  readonly #clock: Clock;
  readonly #ofPool: PoolListeners;
  readonly #subscribers = new Map<symbol, Wake>();
  #connected: Promise<void> | undefined;
  #current: GuardedClient | undefined;
  #closed = false;
  #cancelNext = () => {};

  constructor(pool: GuardedPool, channel: string, clock: Clock, ofPool: PoolListeners) {
    this.#pool = pool;
    this.#channel = channel;
    this.#clock = clock;
    this.#ofPool = ofPool;
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

  wakeAll(source?: string): void {
    for (const wake of this.#subscribers.values()) wake(source);
  }

  #close(): void {
    this.#closed = true;
    this.#ofPool.delete(this.#channel);
    this.#cancelNext();
    this.#release();
  }

  #release(): void {
    this.#current?.release(true);
    this.#current = undefined;
  }

  /** Never rejects. */
  async #connect(): Promise<void> {
    try {
      const client = await this.#pool.checkOut();
      if (this.#closed) return client.release(true);
      this.#current = client;
      const onLost = () => this.#reconnectLater(client);
      client.client.on("notification", (message) => this.#onNotification(message?.payload ?? ""));
      client.client.on("end", onLost);
      client.client.on("error", onLost);
      await client.within(client.send(`LISTEN "${this.#channel}"`));
      this.wakeAll();
      this.#checkLater(client);
    } catch {
      // The server cannot be reached; polling continues meanwhile.
      this.#reconnectLater(this.#current);
    }
  }

  #onNotification(payload: string): void {
    const [name, source] = payload.split(" ", 2);
    if (name !== this.#ofPool.name) this.wakeAll(source || undefined);
  }

  #checkLater(client: GuardedClient): void {
    if (this.#current !== client) return;
    const check = () => {
      client.within(client.send("SELECT 1")).then(
        () => this.#checkLater(client),
        () => this.#reconnectLater(client),
      );
    };
    this.#cancelNext = this.#clock.schedule(checkEveryMs, check, { background: true });
  }

  #reconnectLater(lost: GuardedClient | undefined): void {
    if (this.#closed || this.#current !== lost) return;
    this.#release();
    this.#cancelNext();
    const connect = () => void this.#connect();
    this.#cancelNext = this.#clock.schedule(retryMs, connect, { background: true });
  }
}

const retryMs = 1_000;
const checkEveryMs = 15_000;
const pauseMs = 25;
