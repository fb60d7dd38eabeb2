import { createRedactor } from "../call/redactor.ts";
import type { Clock, Random } from "../clock.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";
import { type QueueLimits, RateLimiter } from "./rate-limiter.ts";
import { SharedSlots } from "./shared-slots.ts";
import type { WindowLimit } from "./sliding-window.ts";

// One limiter per key and address, shared by all clients of the process. The registry is a property of `globalThis`
// because a process can hold two copies of this module, and two limiters of one key would together use twice its limit.
// Clients that disagree about the limit get the smallest.

/** A client's reference to a limiter that it shares with other clients. */
export interface LimiterReference {
  readonly limiter: RateLimiter;
  /** How long this client's calls may queue; other clients have limits of their own. */
  readonly limits: QueueLimits;
  /** Resolves when the store, if there is one, has every released slot. */
  release(): Promise<void>;
}

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings extends QueueLimits {
  readonly requests: number;
  readonly windowMs: number;
  readonly share: number;
  readonly store?: RateLimitStore | undefined;
}

export interface LimiterRequest {
  /** A hash of key and address. */
  readonly id: string;
  readonly rateLimit: RateLimitSettings;
  /** Longest time one request can be in flight. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Limiters of different clocks are independent of each other. */
  readonly customClock: boolean;
  readonly random: Random;
}

interface Entry {
  readonly limiter: RateLimiter;
  readonly shared: SharedSlots | undefined;
  readonly references: Set<RateLimitSettings>;
}

interface Registry {
  readonly systemClock: Map<string, Entry>;
  readonly byClock: WeakMap<object, Map<string, Entry>>;
}

const registryKey = Symbol.for("workspace-tasks/rate-limiters/v1");

export function acquireLimiter(request: LimiterRequest): LimiterReference {
  const entries = entriesOf(request);
  for (const [id, { references, limiter }] of entries) {
    if (references.size === 0 && limiter.isIdle()) entries.delete(id);
  }
  const entry = entries.get(request.id) ?? createEntry(request);
  entries.set(request.id, entry);
  const { limiter, shared, references } = entry;
  // A new object, so that two clients with equal options are two references.
  const settings = { ...request.rateLimit };
  references.add(settings);
  limiter.configure(smallestOf(references));
  return {
    limiter,
    limits: settings,
    async release() {
      if (!references.delete(settings)) return;
      // The entry is kept: requests of the last window count for the next client as well.
      if (references.size > 0) limiter.configure(smallestOf(references));
      else await shared?.flush();
    },
  };
}

function createEntry({ id, rateLimit, timeoutMs, clock, random }: LimiterRequest): Entry {
  const { store, requests, windowMs } = rateLimit;
  const leaseMs = windowMs + timeoutMs;
  const redactCause = createRedactor().cause;
  const shared = store && new SharedSlots({ store, key: id, limit: requests, leaseMs, clock, redactCause });
  const limiter = new RateLimiter(smallestOf([rateLimit]), clock, random, shared);
  return { limiter, shared, references: new Set() };
}

function smallestOf(references: Iterable<RateLimitSettings>): WindowLimit {
  const all = [...references];
  return {
    limit: Math.min(...all.map(({ requests, share }) => Math.max(1, Math.floor(requests * share)))),
    windowMs: Math.max(...all.map(({ windowMs }) => windowMs)),
  };
}

function entriesOf({ clock, customClock }: LimiterRequest): Map<string, Entry> {
  const { systemClock, byClock } = globalRegistry();
  if (!customClock) return systemClock;
  const entries = byClock.get(clock) ?? new Map<string, Entry>();
  byClock.set(clock, entries);
  return entries;
}

function globalRegistry(): Registry {
  const existing: unknown = Reflect.get(globalThis, registryKey);
  if (existing) return existing as Registry;
  const registry: Registry = { systemClock: new Map(), byClock: new WeakMap() };
  Object.defineProperty(globalThis, registryKey, { value: registry });
  return registry;
}
