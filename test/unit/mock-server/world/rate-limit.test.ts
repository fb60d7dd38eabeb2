import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimiter, type RateLimitPolicy } from "../../../../mock-server/world/rate-limit.ts";

const sliding: RateLimitPolicy = { requests: 3, windowMs: 1_000, window: "sliding" };
const fixed: RateLimitPolicy = { ...sliding, window: "fixed" };

describe("createRateLimiter", () => {
  it("counts what a limiter with another limit has counted, after a restore", () => {
    const before = createRateLimiter({ ...sliding, requests: 5 });
    for (const nowMs of [0, 100, 200, 300, 400]) expect(before.take("k", nowMs).granted).toBe(true);
    const lowered = createRateLimiter({ ...sliding, requests: 2 });
    lowered.restore(before.snapshot());
    expect(lowered.usage("k", 400)).toMatchObject({ used: 5, remaining: 0, resetsAtMs: 1_000 });
    // Two are left in the count at 1,299 ms.
    expect(lowered.take("k", 400)).toEqual({ granted: false, retryAfterSeconds: 1 });
    expect(lowered.take("k", 1_299).granted).toBe(false);
    expect(lowered.take("k", 1_300).granted).toBe(true);
    const raised = createRateLimiter({ ...sliding, requests: 6 });
    raised.restore(before.snapshot());
    expect([raised.take("k", 400).granted, raised.take("k", 400).granted]).toEqual([true, false]);
  });

  it("restarts a fixed count at each multiple of the window", () => {
    const limiter = createRateLimiter(fixed);
    for (let made = 0; made < 3; made++) expect(limiter.take("k", 900).granted).toBe(true);
    expect(limiter.take("k", 999).granted).toBe(false);
    for (let made = 0; made < 3; made++) expect(limiter.take("k", 1_000).granted).toBe(true);
    expect(limiter.take("k", 1_000).granted).toBe(false);
  });

  // The reference for the next two: a limiter that loses counts would grant more, one that counts rejections less.
  const schedules = fc.array(fc.record({ stepMs: fc.nat(700), key: fc.constantFrom("a", "b") }), {
    maxLength: 200,
  });

  it("grants no more than the limit in any sliding window, in any schedule", () => {
    fc.assert(
      fc.property(schedules, (steps) => {
        const limiter = createRateLimiter(sliding);
        const granted: Record<string, number[]> = { a: [], b: [] };
        let nowMs = 0;
        for (const { stepMs, key } of steps) {
          nowMs += stepMs;
          const recent = (granted[key] ?? []).filter((atMs) => atMs > nowMs - 1_000);
          const permit = limiter.take(key, nowMs);
          // Exact in both directions: granted if and only if the count is below the limit.
          expect(permit.granted).toBe(recent.length < 3);
          if (permit.granted) granted[key]?.push(nowMs);
        }
      }),
    );
  });

  it.each([sliding, fixed])("grants a request after the stated interval ($window)", (policy) => {
    fc.assert(
      fc.property(schedules, (steps) => {
        const limiter = createRateLimiter(policy);
        let nowMs = 0;
        for (const { stepMs, key } of steps) {
          nowMs += stepMs;
          const permit = limiter.take(key, nowMs);
          if (permit.granted) continue;
          const again = createRateLimiter(policy);
          again.restore(limiter.snapshot());
          expect(again.take(key, nowMs + permit.retryAfterSeconds * 1_000).granted).toBe(true);
        }
      }),
    );
  });

  it("restores all requests where the limit is lower now, and forgets other keys", () => {
    const limiter = createRateLimiter({ ...sliding, requests: 2 });
    limiter.take("other", 0);
    limiter.restore({ k: [1, 2, 3] });
    expect(limiter.snapshot()).toEqual({ k: [1, 2, 3] });
    expect(limiter.usage("k", 1_001).used).toBe(2);
    expect(limiter.snapshot()).toEqual({ k: [2, 3] });
    expect(limiter.usages(1_002)).toEqual([{ keyId: "k", used: 1, remaining: 1, resetsAtMs: 1_003 }]);
  });

  it("burns the given number of requests, and all that remain by default", () => {
    const limiter = createRateLimiter(sliding);
    limiter.burn("k", 0, 2);
    expect(limiter.usage("k", 0)).toEqual({ keyId: "k", used: 2, remaining: 1, resetsAtMs: 1_000 });
    limiter.burn("k", 0);
    limiter.burn("k", 0, 50);
    expect(limiter.usage("k", 0)).toMatchObject({ used: 3, remaining: 0 });
    expect(limiter.take("k", 0).granted).toBe(false);
  });

  it("reports when the next request leaves the count, and omits keys without counted requests", () => {
    const limiter = createRateLimiter(fixed);
    limiter.take("k", 1_500);
    expect(limiter.usages(1_500)).toEqual([{ keyId: "k", used: 1, remaining: 2, resetsAtMs: 2_000 }]);
    expect(limiter.usages(2_000)).toEqual([]);
    expect(limiter.usage("other", 0)).toEqual({ keyId: "other", used: 0, remaining: 3, resetsAtMs: null });
  });
});
