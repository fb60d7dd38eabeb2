// The interface defines the number of requests, not the window. Sliding: a request leaves the count exactly
// `windowMs` after it was made. Fixed: the count restarts at each multiple of `windowMs`. A rejected request never
// counts, so that waiting for `Retry-After` is always enough.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";

export interface RateLimitPolicy {
  readonly requests: number;
  readonly windowMs: number;
  readonly window: "sliding" | "fixed";
}

export type Permit =
  | { readonly granted: true }
  /** The next request is granted after this many whole seconds. */
  | { readonly granted: false; readonly retryAfterSeconds: number };

export interface Usage {
  readonly keyId: string;
  readonly used: number;
  readonly remaining: number;
  /** When the next request leaves the count; `null` while nothing is counted. */
  readonly resetsAtMs: number | null;
}

/** Times of the counted requests per key, oldest first. */
export type RateLimitSnapshot = Readonly<Record<string, number[]>>;

export interface RateLimiter {
  /** Counts a request of this key, or rejects it. */
  take(keyId: string, nowMs: number): Permit;
  /** Uses up `requests` of those that remain (default: all) without a request. */
  burn(keyId: string, nowMs: number, requests?: number): void;
  usage(keyId: string, nowMs: number): Usage;
  /** Every key that has counted requests. */
  usages(nowMs: number): readonly Usage[];
  snapshot(): RateLimitSnapshot;
  restore(snapshot: RateLimitSnapshot): void;
}

export function createRateLimiter(policy: RateLimitPolicy): RateLimiter {
  const logs = new Map<string, TimeLog>();

  const logOf = (keyId: string, nowMs: number): TimeLog => {
    const log = getOrCreate(logs, keyId, createTimeLog);
    log.dropUntil(startOfWindow(policy, nowMs));
    return log;
  };

  const usage = (keyId: string, nowMs: number): Usage => {
    const log = logOf(keyId, nowMs);
    const used = log.size();
    return {
      keyId,
      used,
      // Below zero after the limit was lowered.
      remaining: Math.max(0, policy.requests - used),
      resetsAtMs: used === 0 ? null : leavesAt(policy, log.at(0)),
    };
  };

  return {
    take(keyId, nowMs) {
      const log = logOf(keyId, nowMs);
      const excess = log.size() - policy.requests;
      if (excess >= 0) {
        const waitMs = leavesAt(policy, log.at(excess)) - nowMs;
        return { granted: false, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
      }
      log.add(nowMs);
      return { granted: true };
    },
    burn(keyId, nowMs, requests = policy.requests) {
      const log = logOf(keyId, nowMs);
      for (let remaining = requests; remaining > 0 && log.size() < policy.requests; remaining--)
        log.add(nowMs);
    },
    usage,
    usages: (nowMs) => [...logs.keys()].map((keyId) => usage(keyId, nowMs)).filter(({ used }) => used > 0),
    snapshot: () => Object.fromEntries([...logs].map(([keyId, log]) => [keyId, log.times()])),
    restore(snapshot) {
      logs.clear();
      for (const [keyId, times] of Object.entries(snapshot)) {
        const log = createTimeLog();
        for (const timeMs of times) log.add(timeMs);
        logs.set(keyId, log);
      }
    },
  };
}

/** Requests made at this time or before do not count. */
const startOfWindow = ({ window, windowMs }: RateLimitPolicy, nowMs: number): number =>
  window === "sliding" ? nowMs - windowMs : Math.floor(nowMs / windowMs) * windowMs - 1;

const leavesAt = ({ window, windowMs }: RateLimitPolicy, timeMs: number): number =>
  window === "sliding" ? timeMs + windowMs : (Math.floor(timeMs / windowMs) + 1) * windowMs;

type TimeLog = ReturnType<typeof createTimeLog>;

/** Times in order; those that no longer count are cut off when they are more than half. */
function createTimeLog() {
  let times: number[] = [];
  let start = 0;
  return {
    size: () => times.length - start,
    /** The time at this index; the oldest one is at 0. */
    at: (index: number) => times[start + index] as number,
    add: (timeMs: number) => void times.push(timeMs),
    dropUntil(timeMs: number) {
      while ((times[start] ?? Number.POSITIVE_INFINITY) <= timeMs) start++;
      if (start <= times.length / 2) return;
      times = times.slice(start);
      start = 0;
    },
    times: () => times.slice(start),
  };
}
