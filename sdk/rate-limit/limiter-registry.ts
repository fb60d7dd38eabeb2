import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { type LimiterParts, RateLimiter } from "./rate-limiter.ts";
import type { RateLimitStore } from "./shared-permits.ts";

// One limiter per key, address and limit for all clients of the process. It belongs to no client: one that is never closed
// can be collected. The limiters are a property of `globalThis`, because a process can hold two copies of this module, for
// example as an ES module and as CommonJS, and two limiters of one key would together use twice its limit.

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings {
  readonly requests: number;
  readonly windowMs: number;
  readonly maxQueued: number;
  readonly store?: RateLimitStore | undefined;
}

interface LimiterScope extends LimiterParts {
  readonly rateLimit: RateLimitSettings;
  /** The limiters of different clocks are independent of each other. */
  readonly customClock: boolean;
}

/** Returns the limiter of a key, for the next call: one that is idle may have been replaced. */
export function findLimiter(scope: LimiterScope, key: string): () => RateLimiter {
  const { clock, customClock, rateLimit } = scope;
  const { requests: limit, windowMs, store } = rateLimit;
  if (store) {
    // The store counts the requests of all clients.
    const limiter = new RateLimiter({ limit, windowMs, shared: { store, key } }, scope);
    return () => limiter;
  }
  const limiters = limitersOf(customClock ? clock : globalThis);
  const id = `${key} ${limit} ${windowMs}`;
  return () => limiters.get(id) ?? limiters.add(id, new RateLimiter({ limit, windowMs }, scope));
}

const registryKey = Symbol.for("workspace-tasks/rate-limiters/v1");

/** @param time a clock, or `globalThis` for that of the machine */
function limitersOf(time: object): Entries<RateLimiter> {
  if (!(registryKey in globalThis)) Object.defineProperty(globalThis, registryKey, { value: new WeakMap() });
  const registry = Reflect.get(globalThis, registryKey) as WeakMap<object, Entries<RateLimiter>>;
  return getOrCreate(registry, time, () => new Entries());
}

type Idle = { isIdle(): boolean };

/** Entries by id. Those that are idle are dropped when there are twice as many as before. */
export class Entries<Entry extends Idle> {
  readonly #entries = new Map<string, Entry>();
  #sweepAt = sweepAtMin;

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  add(id: string, entry: Entry): Entry {
    // A search for idle entries reads all of them: with one for each new key, a key would cost more the more there are.
    if (this.#entries.size >= this.#sweepAt) {
      for (const [other, each] of this.#entries) if (each.isIdle()) this.#entries.delete(other);
      this.#sweepAt = Math.max(sweepAtMin, 2 * this.#entries.size);
    }
    this.#entries.set(id, entry);
    return entry;
  }
}

const sweepAtMin = 16;
