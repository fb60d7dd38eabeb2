import { describe, expect, it } from "vitest";
import { failure, type Remedy } from "../../../../sdk/call/failure.ts";
import type { Outcome } from "../../../../sdk/errors.ts";
import { backoffMs, decideRetry, type Retry, type RetryState } from "../../../../sdk/request/retry-policy.ts";

const state: RetryState = {
  hasLimiter: true,
  idempotent: false,
  retries: 0,
  maxRetries: 3,
  remainingMs: Number.POSITIVE_INFINITY,
};
const query = { idempotent: true };
const half = () => 0.5;
const repeatAfter = (delayMs: number): Retry => ({ reason: "repeat", delayMs });
const waits: Retry = { reason: "wait_for_rate_limit", delayMs: 0 };

describe("the retry policy", () => {
  type Row = readonly [Remedy, Outcome, number | undefined, Partial<RetryState>, Retry | undefined];
  it.each<Row>([
    // A query, or an idempotent mutation, is repeated whatever its outcome; another mutation unless that is unknown.
    ["repeat", "not_sent", undefined, query, repeatAfter(150)],
    ["repeat", "rejected", undefined, query, repeatAfter(150)],
    ["repeat", "unknown", undefined, query, repeatAfter(150)],
    ["repeat", "not_sent", undefined, {}, repeatAfter(150)],
    ["repeat", "rejected", undefined, {}, repeatAfter(150)],
    ["repeat", "unknown", undefined, {}, undefined],
    // At most maxRetries times, and not without a remedy.
    ["repeat", "not_sent", undefined, { retries: 2 }, repeatAfter(600)],
    ["repeat", "not_sent", undefined, { retries: 3 }, undefined],
    ["repeat", "not_sent", undefined, { maxRetries: 0 }, undefined],
    ["none", "not_sent", undefined, query, undefined],
    // After Retry-After, unless that is after the deadline or longer than a minute.
    ["repeat", "not_sent", 9_000, {}, repeatAfter(9_000)],
    ["repeat", "not_sent", 9_000, { remainingMs: 9_000 }, undefined],
    ["repeat", "not_sent", 60_000, {}, repeatAfter(60_000)],
    ["repeat", "not_sent", 60_001, {}, undefined],
    ["repeat", "unknown", Number.MAX_SAFE_INTEGER, query, undefined],
    // A limiter waits for the rate limit, which is no retry, but not beyond the deadline.
    ["wait_for_rate_limit", "rejected", undefined, { maxRetries: 0 }, waits],
    ["wait_for_rate_limit", "rejected", 9_000, { remainingMs: 9_000 }, waits],
    ["wait_for_rate_limit", "rejected", 9_000, { remainingMs: 8_999 }, undefined],
    // Without a limiter a 429 is repeated like any other transient failure.
    ["wait_for_rate_limit", "rejected", undefined, { hasLimiter: false }, repeatAfter(150)],
    ["wait_for_rate_limit", "rejected", 9_000, { hasLimiter: false }, repeatAfter(9_000)],
    ["wait_for_rate_limit", "rejected", undefined, { hasLimiter: false, retries: 3 }, undefined],
  ])(
    "decides on %s, %s and Retry-After %s with %j: %j",
    (remedy, outcome, retryAfterMs, changes, expected) => {
      const failed = failure("SERVICE_UNAVAILABLE", "", { remedy, outcome, retryAfterMs });
      expect(decideRetry(failed, { ...state, ...changes }, half)).toEqual(expected);
    },
  );
});

describe("the backoff", () => {
  it("the backoff doubles up to five seconds, with jitter over the upper half", () => {
    const ceilings = [0, 1, 2, 3, 4, 5, 6].map((retries) => backoffMs(retries, () => 1));
    expect(ceilings).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect(backoffMs(0, () => 0)).toBe(100);
  });
});
