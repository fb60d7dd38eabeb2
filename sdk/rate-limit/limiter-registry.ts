import { FailureError, failure } from "../call/failure.ts";
import { processEntries, type RegistryScope } from "../call/process-registry.ts";
import type { Random } from "../clock.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";
import { type LimiterSettings, RateLimiter, type RateLimitSnapshot } from "./rate-limiter.ts";
import type { ClientQueue } from "./waiting-call.ts";

// One limiter per key and address for all clients of the process. Each call looks its limiter up, so that nothing refers
// to a client: one that is never closed can be collected, and a limiter that knows nothing about its key any more is
// dropped when the next one is created.
//
// The settings are those of the first client. Another client's have to be the same until the first is closed or the key is
// idle. What a limiter knows about the key is kept when they change.

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings extends Pick<ClientQueue, "maxQueued" | "maxWaitMs"> {
  readonly requests: number;
  readonly windowMs: number;
  readonly share: number;
  readonly store?: RateLimitStore | undefined;
}

export interface LimiterRequest extends RegistryScope {
  /** A hash of key and address. */
  readonly id: string;
  /** The same object for all calls of a client. */
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
  release(): void;
}

interface Entry {
  readonly limiter: RateLimiter;
  settings: RateLimitSettings;
  /** The settings of the open clients that have used it. */
  readonly users: Set<RateLimitSettings>;
}

export function referToLimiter(request: LimiterRequest): LimiterReference {
  const { id, rateLimit, redactCause } = request;
  const { maxQueued, maxWaitMs } = rateLimit;
  const entries = processEntries<Entry>("rate-limiters", request);
  const find = () => {
    const entry = entries.get(id) ?? createEntry(entries, request);
    if (!entry.users.has(rateLimit)) join(entry, request);
    return entry.limiter;
  };
  return {
    queue: { maxQueued, maxWaitMs, redactCause, queued: 0 },
    limiter: find,
    snapshot: () => (entries.get(id) ?? createEntry(entries, request)).limiter.snapshot(),
    release: () => void entries.get(id)?.users.delete(rateLimit),
  };
}

function createEntry(entries: Map<string, Entry>, request: LimiterRequest): Entry {
  for (const [id, { limiter }] of entries) if (limiter.isIdle()) entries.delete(id);
  const { id, rateLimit, clock, random } = request;
  const limiter = new RateLimiter(limiterSettings(request), clock, random);
  const entry: Entry = { limiter, settings: rateLimit, users: new Set() };
  entries.set(id, entry);
  return entry;
}

function join(entry: Entry, request: LimiterRequest): void {
  const { rateLimit } = request;
  const { limiter, users, settings } = entry;
  const option = shared.find((name) => settings[name] !== rateLimit[name]);
  if (option) {
    if (users.size > 0 && !limiter.isIdle()) throw new FailureError(differs(option, settings, rateLimit));
    users.clear();
    entry.settings = rateLimit;
    limiter.configure(limiterSettings(request));
  }
  users.add(rateLimit);
}

const shared = ["requests", "windowMs", "share", "store"] as const;

function differs(option: (typeof shared)[number], expected: RateLimitSettings, got: RateLimitSettings) {
  const difference =
    option === "store"
      ? "the store of the other clients of this key in this process, got another one or none"
      : `${expected[option]}, as for the other clients of this key in this process, got ${got[option]}`;
  const message = `rateLimit.${option}: expected ${difference}; use the same rateLimit for all of them, or close the others first`;
  return failure("CONFIGURATION_INVALID", message);
}

function limiterSettings({ id, rateLimit }: LimiterRequest): LimiterSettings {
  const { requests, windowMs, share, store } = rateLimit;
  return {
    limit: Math.max(1, Math.floor(requests * share)),
    windowMs,
    // The store counts the requests of all processes, so their shares do not matter.
    shared: store && { store, key: id, limit: requests },
  };
}
