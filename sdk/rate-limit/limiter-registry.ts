import { createRedactor } from "../call/redactor.ts";
import type { Clock, Random } from "../clock.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";
import { Allowance, type AllowanceOptions, type QueueLimits } from "./rate-limiter.ts";
import { SharedSlots } from "./shared-slots.ts";

/**
 * One allowance per key and address, shared by every client in the process. It hangs off `globalThis` because a
 * process can hold two copies of this module, and two allowances for one key would together take twice the limit.
 * TaxClients that disagree about the limit get the smallest.
 */
export interface LimiterReference {
  readonly allowance: Allowance;
  /** How long its holder's calls may queue; the allowance is shared, these are not. */
  readonly limits: QueueLimits;
  /** Resolves when what was given back has reached the store, if there is one. */
  end(): Promise<void>;
}

/** The pacing of one client; `RateLimitOptions` with every default filled in. */
export interface RateLimitSettings extends QueueLimits {
  readonly requests: number;
  readonly windowMs: number;
  readonly share: number;
  readonly store?: RateLimitStore | undefined;
}

export interface LimiterRequest {
  /** Names key and address; a hash. */
  readonly id: string;
  readonly rateLimit: RateLimitSettings;
  /** Longest time one request can be under way. */
  readonly attemptMsMax: number;
  readonly clock: Clock;
  /** Allowances under different clocks have nothing to do with each other. */
  readonly hasOwnClock: boolean;
  readonly random: Random;
}

interface Entry {
  readonly allowance: Allowance;
  readonly shared: SharedSlots | undefined;
  readonly holders: Set<RateLimitSettings>;
}

interface Registry {
  readonly system: Map<string, Entry>;
  readonly byClock: WeakMap<object, Map<string, Entry>>;
}

const registryKey = Symbol.for("workspace-tasks/allowances/v1");

export function acquireLimiter(request: LimiterRequest): LimiterReference {
  const entries = entriesOf(request);
  for (const [id, entry] of entries) {
    if (entry.holders.size === 0 && entry.allowance.isIdle()) entries.delete(id);
  }
  const entry = entries.get(request.id) ?? createEntry(request);
  entries.set(request.id, entry);
  // A fresh object, so that two clients with equal options are two holders.
  const holder = { ...request.rateLimit };
  entry.holders.add(holder);
  entry.allowance.configure(smallest(entry.holders));
  return {
    allowance: entry.allowance,
    limits: holder,
    async end() {
      if (!entry.holders.delete(holder)) return;
      // The entry stays: what was sent in the last minute counts for the next client as well.
      if (entry.holders.size > 0) entry.allowance.configure(smallest(entry.holders));
      else await entry.shared?.flush();
    },
  };
}

function createEntry(request: LimiterRequest): Entry {
  const { rateLimit, clock, random } = request;
  const shared = rateLimit.store ? createShared(request, rateLimit.store, () => entry.allowance) : undefined;
  const allowance = new Allowance(smallest(new Set([rateLimit])), clock, random, shared);
  const entry: Entry = { allowance, shared, holders: new Set() };
  return entry;
}

function createShared(
  request: LimiterRequest,
  store: RateLimitStore,
  allowance: () => Allowance,
): SharedSlots {
  const { id, clock, rateLimit, attemptMsMax } = request;
  return new SharedSlots({
    store,
    key: id,
    limit: rateLimit.requests,
    leaseMs: rateLimit.windowMs + attemptMsMax,
    clock,
    onFailure: (failure) => allowance().rejectAll(failure),
    redactCause: createRedactor().cause,
  });
}

function smallest(holders: ReadonlySet<RateLimitSettings>): AllowanceOptions {
  const all = [...holders];
  return {
    limit: Math.min(...all.map(({ requests, share }) => Math.max(1, Math.floor(requests * share)))),
    windowMs: Math.max(...all.map(({ windowMs }) => windowMs)),
  };
}

function entriesOf({ clock, hasOwnClock }: LimiterRequest): Map<string, Entry> {
  const registry = globalRegistry();
  if (!hasOwnClock) return registry.system;
  const existing = registry.byClock.get(clock);
  if (existing) return existing;
  const entries = new Map<string, Entry>();
  registry.byClock.set(clock, entries);
  return entries;
}

function globalRegistry(): Registry {
  const existing: unknown = Reflect.get(globalThis, registryKey);
  if (existing) return existing as Registry;
  const registry: Registry = { system: new Map(), byClock: new WeakMap() };
  Object.defineProperty(globalThis, registryKey, { value: registry });
  return registry;
}
