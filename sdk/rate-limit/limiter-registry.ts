import type { Random } from "@workspace-tasks/kernel/random.ts";
import { FailureError, failure } from "../call/failure.ts";
import { SharedEntries, type SharedScope } from "../call/shared-entries.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";
import { RateLimiter, type RateLimitSnapshot } from "./rate-limiter.ts";
import type { ClientQueue } from "./waiting-call.ts";

// One limiter per key and address for all clients of the process, with the settings of the first of them. Each call looks
// it up, so a client with other settings gets a limiter of its own as soon as the key has been unused for a window.

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
  /** Throws `FailureError` when another client of the key has other settings. */
  limiter(): RateLimiter;
  snapshot(): RateLimitSnapshot;
}

interface Entry {
  readonly limiter: RateLimiter;
  readonly rateLimit: RateLimitSettings;
  isIdle(): boolean;
}

export function referToLimiter(request: LimiterRequest): LimiterReference {
  const { id, rateLimit, redactCause } = request;
  const entries = new SharedEntries<Entry>("rate-limiters", request);
  const create = () => createEntry(request);
  const find = () => entries.getOrCreate(id, create);
  return {
    queue: { maxQueued: rateLimit.maxQueued, redactCause, queued: 0 },
    limiter() {
      const entry = find();
      if (entry.rateLimit === rateLimit) return entry.limiter;
      const option = settings.find((name) => entry.rateLimit[name] !== rateLimit[name]);
      if (!option) return entry.limiter;
      if (!entry.isIdle()) throw new FailureError(differs(option, entry.rateLimit, rateLimit));
      return entries.replace(id, create()).limiter;
    },
    snapshot: () => find().limiter.snapshot(),
  };
}

function createEntry({ id, rateLimit, clock, random }: LimiterRequest): Entry {
  const { requests, windowMs, store } = rateLimit;
  const shared = store && { store, key: id };
  const limiter = new RateLimiter({ limit: requests, windowMs, shared }, clock, random);
  return { limiter, rateLimit, isIdle: () => limiter.isIdle() };
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
