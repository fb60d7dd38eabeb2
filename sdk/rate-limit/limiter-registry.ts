import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
import { FailureError, failure } from "../call/failure.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";
import { RateLimiter, type RateLimitSnapshot } from "./rate-limiter.ts";
import type { ClientQueue } from "./waiting-call.ts";

// One limiter per key and address for all clients of the process, with the settings of the first of them. Each call looks
// it up, so a client with other settings gets a limiter of its own as soon as the key has been unused for a window.
//
// They refer to no client: one that is never closed can be collected. They are a property of `globalThis`, because a process
// can hold two copies of this module, for example as an ES module and as CommonJS, and two limiters of one key would together
// use twice its limit.

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings extends Pick<ClientQueue, "maxQueued"> {
  readonly requests: number;
  readonly windowMs: number;
  readonly store?: RateLimitStore | undefined;
}

export interface LimiterRequest {
  readonly clock: Clock;
  /** The limiters of different clocks are independent of each other. */
  readonly customClock: boolean;
  /** A hash of key and address. */
  readonly id: string;
  readonly rateLimit: RateLimitSettings;
  readonly random: Random;
  readonly redactCause: ClientQueue["redactCause"];
}

/** How a client reaches the limiter that it shares with other clients of the key. */
export interface LimiterReference {
  /** The calls of this client. */
  readonly queue: ClientQueue;
  /** Throws `FailureError` when another client of the key has other settings. */
  limiter(): RateLimiter;
  snapshot(): RateLimitSnapshot;
}

interface Entry {
  readonly limiter: RateLimiter;
  readonly rateLimit: RateLimitSettings;
}
type Entries = Map<string, Entry>;

export function referToLimiter(request: LimiterRequest): LimiterReference {
  const { id, rateLimit, redactCause } = request;
  const entries = entriesOf(request);
  const create = () => createEntry(entries, request);
  const find = () => entries.get(id) ?? create();
  return {
    queue: { maxQueued: rateLimit.maxQueued, redactCause, queued: 0 },
    limiter() {
      const entry = find();
      if (entry.rateLimit === rateLimit) return entry.limiter;
      const option = settings.find((name) => entry.rateLimit[name] !== rateLimit[name]);
      if (!option) return entry.limiter;
      if (!entry.limiter.isIdle()) throw new FailureError(differs(option, entry.rateLimit, rateLimit));
      return create().limiter;
    },
    snapshot: () => find().limiter.snapshot(),
  };
}

/** The idle ones are dropped when another is created. */
function createEntry(entries: Entries, { id, rateLimit, clock, random }: LimiterRequest): Entry {
  for (const [other, { limiter }] of entries) if (limiter.isIdle()) entries.delete(other);
  const { requests, windowMs, store } = rateLimit;
  const shared = store && { store, key: id };
  const entry = { limiter: new RateLimiter({ limit: requests, windowMs, shared }, clock, random), rateLimit };
  entries.set(id, entry);
  return entry;
}

interface Registry {
  readonly systemClock: Entries;
  readonly byClock: WeakMap<Clock, Entries>;
}

const registryKey = Symbol.for("workspace-tasks/rate-limiters/v1");

function entriesOf({ clock, customClock }: LimiterRequest): Entries {
  const existing = Reflect.get(globalThis, registryKey) as Registry | undefined;
  const registry: Registry = existing ?? { systemClock: new Map(), byClock: new WeakMap() };
  if (!existing) Object.defineProperty(globalThis, registryKey, { value: registry });
  return customClock ? getOrCreate(registry.byClock, clock, () => new Map()) : registry.systemClock;
}

const settings = ["requests", "windowMs", "store"] as const;

function differs(option: (typeof settings)[number], expected: RateLimitSettings, got: RateLimitSettings) {
  const difference =
    option === "store"
      ? "the store of the other clients of this key in this process, got another one or none"
      : `${expected[option]}, as for the other clients of this key in this process, got ${got[option]}`;
  const message = `rateLimit.${option}: expected ${difference}; use the same rateLimit for all of them`;
  return failure("CONFIGURATION_INVALID", message);
}
