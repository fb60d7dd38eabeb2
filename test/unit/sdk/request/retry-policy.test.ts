import { describe, expect, it } from "vitest";
import { failure, type Remedy } from "../../../../sdk/call/failure.ts";
import type { Outcome } from "../../../../sdk/errors.ts";
import { backoffMs, decideRetry, type RetryState } from "../../../../sdk/request/retry-policy.ts";

const failed = (remedy: Remedy, outcome: Outcome, retryAfterMs?: number) =>
  failure("SERVICE_UNAVAILABLE", "", { remedy, outcome, retryAfterMs });

const state: RetryState = {
  hasLimiter: true,
  idempotent: false,
  retries: 0,
  maxRetries: 3,
  remainingMs: Number.POSITIVE_INFINITY,
};
const half = () => 0.5;

describe("the retry policy", () => {
  it.each([
    ["an idempotent call", true, "not_sent", "repeat"],
    ["an idempotent call", true, "rejected", "repeat"],
    ["an idempotent call", true, "unknown", "repeat"],
    ["another call", false, "not_sent", "repeat"],
    ["another call", false, "rejected", "repeat"],
    ["another call", false, "unknown", undefined],
  ] as const)(
    "the retry policy after a transient failure of %s (%s) with outcome %s is: %s",
    (_call, idempotent, outcome, reason) => {
      expect(decideRetry(failed("repeat", outcome), { ...state, idempotent }, half)?.reason).toBe(reason);
    },
  );

  it("the retry policy repeats at most maxRetries times", () => {
    const transient = failed("repeat", "not_sent");
    expect(decideRetry(transient, { ...state, retries: 2 }, half)?.reason).toBe("repeat");
    expect(decideRetry(transient, { ...state, retries: 3 }, half)).toBeUndefined();
    expect(decideRetry(transient, { ...state, maxRetries: 0 }, half)).toBeUndefined();
  });

  it("the retry policy waits for the rate limit without counting it as a retry", () => {
    const limited = failed("wait_for_rate_limit", "rejected");
    const decision = decideRetry(limited, { ...state, maxRetries: 0 }, half);
    expect(decision).toEqual({ reason: "wait_for_rate_limit", delayMs: 0 });
  });

  it("the retry policy does not wait for the rate limit beyond the deadline", () => {
    const limited = failed("wait_for_rate_limit", "rejected", 9_000);
    expect(decideRetry(limited, { ...state, remainingMs: 8_999 }, half)).toBeUndefined();
    expect(decideRetry(limited, { ...state, remainingMs: 9_000 }, half)?.reason).toBe("wait_for_rate_limit");
  });

  it("the retry policy repeats a 429 after Retry-After where no limiter waits for it", () => {
    const unlimited = { ...state, hasLimiter: false };
    const of = (retryAfterMs?: number) => failed("wait_for_rate_limit", "rejected", retryAfterMs);
    expect(decideRetry(of(), unlimited, half)).toEqual({ reason: "repeat", delayMs: 150 });
    expect(decideRetry(of(9_000), unlimited, half)).toEqual({ reason: "repeat", delayMs: 9_000 });
    expect(decideRetry(of(), { ...unlimited, retries: 3 }, half)).toBeUndefined();
  });

  it("the retry policy gives up on a failure without a remedy", () => {
    expect(decideRetry(failed("none", "not_sent"), { ...state, idempotent: true }, half)).toBeUndefined();
  });

  it("the retry policy waits as long as Retry-After says, unless the deadline is earlier", () => {
    const busy = failed("repeat", "not_sent", 9_000);
    expect(decideRetry(busy, state, half)).toEqual({ reason: "repeat", delayMs: 9_000 });
    expect(decideRetry(busy, { ...state, remainingMs: 9_000 }, half)).toBeUndefined();
  });
});

describe("a Retry-After of more than 60 s", () => {
  it("fails a call at once, whatever its deadline", () => {
    const query = { ...state, idempotent: true } as const;
    for (const retryAfterMs of [60_001, 86_400_000, Number.MAX_SAFE_INTEGER]) {
      expect(decideRetry(failed("repeat", "unknown", retryAfterMs), query, half)).toBeUndefined();
    }
    const busy = failed("repeat", "unknown", 60_000);
    expect(decideRetry(busy, query, half)).toEqual({ reason: "repeat", delayMs: 60_000 });
  });
});

describe("the backoff", () => {
  it("the backoff doubles up to five seconds, with jitter over the upper half", () => {
    const ceilings = [0, 1, 2, 3, 4, 5, 6].map((retries) => backoffMs(retries, () => 1));
    expect(ceilings).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect(backoffMs(0, () => 0)).toBe(100);
  });
});
