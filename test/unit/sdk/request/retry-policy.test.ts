import { describe, expect, it } from "vitest";
import type { Failure, Remedy } from "../../../../sdk/call/failure.ts";
import { backoffMs, nextStep, type RetryState } from "../../../../sdk/request/retry-policy.ts";

function failure(remedy: Remedy, outcome: Failure["outcome"], retryAfterMs?: number): Failure {
  return { code: "SERVICE_UNAVAILABLE", message: "", remedy, outcome, retryAfterMs };
}

const state: RetryState = {
  kind: "mutation",
  retries: 0,
  maxRetries: 3,
  hadFreshToken: false,
  remainingMs: Number.POSITIVE_INFINITY,
};
const half = () => 0.5;

describe("after a failed attempt", () => {
  it.each([
    ["query", "not_sent", "repeat"],
    ["query", "rejected", "repeat"],
    ["query", "unknown", "repeat"],
    ["mutation", "not_sent", "repeat"],
    ["mutation", "rejected", "repeat"],
    ["mutation", "unknown", "fail"],
  ] as const)("a %s whose effect is %s: %s", (kind, outcome, type) => {
    expect(nextStep(failure("repeat", outcome), { ...state, kind }, half).type).toBe(type);
  });

  it("nothing is repeated more than maxRetries times", () => {
    const failed = failure("repeat", "not_sent");
    expect(nextStep(failed, { ...state, retries: 2 }, half).type).toBe("repeat");
    expect(nextStep(failed, { ...state, retries: 3 }, half).type).toBe("fail");
    expect(nextStep(failed, { ...state, maxRetries: 0 }, half).type).toBe("fail");
  });

  it("a fresh token is fetched once, and not charged to maxRetries", () => {
    const refused = failure("fresh_token", "rejected");
    expect(nextStep(refused, { ...state, maxRetries: 0 }, half)).toEqual({ type: "fresh_token" });
    expect(nextStep(refused, { ...state, hadFreshToken: true }, half)).toEqual({ type: "fail" });
  });

  it("waiting for the allowance is not charged to maxRetries either", () => {
    const refused = failure("wait_for_rate_limit", "rejected");
    expect(nextStep(refused, { ...state, maxRetries: 0 }, half)).toEqual({ type: "wait_for_rate_limit" });
  });

  it("what nothing can help fails", () => {
    expect(nextStep(failure("none", "not_sent"), { ...state, kind: "query" }, half)).toEqual({
      type: "fail",
    });
  });

  it("Retry-After is waited for, unless the deadline comes first", () => {
    const busy = failure("repeat", "not_sent", 9_000);
    expect(nextStep(busy, state, half)).toEqual({ type: "repeat", delayMs: 9_000 });
    expect(nextStep(busy, { ...state, remainingMs: 9_000 }, half)).toEqual({ type: "fail" });
  });
});

it("pauses double up to five seconds and are spread over their upper half", () => {
  const ceilings = [0, 1, 2, 3, 4, 5, 6].map((retries) => backoffMs(retries, () => 1));
  expect(ceilings).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  expect(backoffMs(0, () => 0)).toBe(100);
});
