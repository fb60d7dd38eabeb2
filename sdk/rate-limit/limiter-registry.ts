import type { Random } from "@workspace-tasks/kernel/random.ts";
import { FailureError, failure } from "../call/failure.ts";
import { SharedEntries, type SharedScope } from "../call/shared-entries.ts";
import { type ClientQueue, RateLimiter, type RateLimitSnapshot } from "./rate-limiter.ts";
import type { RateLimitStore } from "./shared-permits.ts";

// One limiter per key and address for all clients of the process, with the settings of the first of them. Each call looks
// it up. When no other open client uses it, or it has been unused for a window, a client with other settings replaces it;
// the new limiter counts what the old one has sent.

/** `RateLimitOptions` with defaults. */
export interface RateLimitSettings extends Pick<ClientQueue, "maxQueued"> {
  readonly requests: number;
  readonly windowMs: number;
  readonly store?: RateLimitStore | undefined;
}

export interface LimiterRequest extends SharedScope {
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
  /** Throws `FailureError` when another open client of the key has other settings. */
  limiter(): RateLimiter;
  snapshot(): RateLimitSnapshot;
  /** The client was closed. */
  leave(): void;
}

interface Entry {
  readonly limiter: RateLimiter;
  readonly rateLimit: RateLimitSettings;
  /** Clients that have used it and are open. One that is never closed counts until the key is idle. */
  users: number;
  isIdle(): boolean;
}

export function referToLimiter(request: LimiterRequest): LimiterReference {
  const { id, rateLimit, redactCause } = request;
  const entries = new SharedEntries<Entry>("rate-limiters", request);
  let used: Entry | undefined;

  const find = () => entries.getOrCreate(id, () => createEntry(request));

  function leave(): void {
    if (used) used.users -= 1;
    used = undefined;
  }

  function use(entry: Entry): RateLimiter {
    if (entry !== used) {
      leave();
      entry.users += 1;
      used = entry;
    }
    return entry.limiter;
  }

  return {
    queue: { maxQueued: rateLimit.maxQueued, redactCause, queued: 0 },
    limiter() {
      const entry = find();
      if (entry.rateLimit === rateLimit) return use(entry);
      const option = settings.find((name) => entry.rateLimit[name] !== rateLimit[name]);
      if (!option) return use(entry);
      const others = entry.users - (entry === used ? 1 : 0);
      if (others > 0 && !entry.isIdle()) throw new FailureError(differs(option, entry.rateLimit, rateLimit));
      return use(entries.replace(id, createEntry(request, entry.limiter)));
    },
    snapshot: () => find().limiter.snapshot(),
    leave,
  };
}

function createEntry(request: LimiterRequest, before?: RateLimiter): Entry {
  const { id, rateLimit, clock, random } = request;
  const { requests: limit, windowMs, store } = rateLimit;
  const shared = store && { store, key: id };
  const limiterSettings = { limit, windowMs, shared };
  const limiter = new RateLimiter(limiterSettings, clock, random, before);
  return { limiter, rateLimit, users: 0, isIdle: () => limiter.isIdle() };
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
