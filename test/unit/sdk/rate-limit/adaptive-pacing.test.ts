import { describe, expect, it } from "vitest";
import { AdaptivePacing } from "../../../../sdk/rate-limit/adaptive-pacing.ts";

// 120 requests per minute. After a rejection all calls wait for Retry-After, a margin of 50 ms and half of 200 ms of jitter.
const limit = { limit: 120, windowMs: 60_000 };
const returnMs = 150;
const half = () => 0.5;

/** A 429 of a request that was sent at the same time, while `own` others counted. */
function reject(pacing: AdaptivePacing, atMs: number, retryAfterMs: number | undefined, own = 60): number {
  return pacing.rejected(atMs, atMs, retryAfterMs, own, half);
}

/** A second 429 right after the pause of the first, which ends at 10,000. */
function rejectTwice(own: number): AdaptivePacing {
  const pacing = new AdaptivePacing(limit, false);
  reject(pacing, 0, 10_000 - returnMs, own);
  reject(pacing, 10_000, 10_000 - returnMs, own);
  return pacing;
}

function accept(pacing: AdaptivePacing, count: number, startedAtMs = 0): void {
  for (let each = 0; each < count; each += 1) pacing.accepted(startedAtMs);
}

describe("the adaptive pacing at its start", () => {
  it("lets two requests be in flight, then as many as were accepted, and all after a whole limit", () => {
    const inFlightMax = (accepted: number) => {
      const pacing = new AdaptivePacing(limit, false);
      accept(pacing, accepted);
      return pacing.atOnceMax(0);
    };
    expect([0, 1, 2, 3, 20, 119, 120].map(inFlightMax)).toEqual([
      2,
      2,
      2,
      3,
      20,
      119,
      Number.POSITIVE_INFINITY,
    ]);
  });

  it("lets one more request be sent when those in flight take longer than calls are apart at the limit", () => {
    const pacing = new AdaptivePacing(limit, false);
    expect(pacing.waitMs(0, 0)).toBe(0);
    pacing.permitted(0);
    expect([pacing.waitMs(0, 1), pacing.waitMs(0, 2), pacing.waitMs(400, 2), pacing.waitMs(500, 2)]).toEqual([
      0, 500, 100, 0,
    ]);
    expect(pacing.atOnceMax(2)).toBe(1);
  });

  it("lets all requests be in flight when a store counts those of the others", () => {
    expect(new AdaptivePacing(limit, true).atOnceMax(0)).toBe(Number.POSITIVE_INFINITY);
  });

  it("has the whole limit as its capacity", () => {
    expect(new AdaptivePacing(limit, false).capacity(0)).toBe(120);
  });
});

describe("the adaptive pacing after a 429", () => {
  it("makes all calls wait as long as Retry-After says, and a little longer", () => {
    const pacing = new AdaptivePacing(limit, false);
    expect(reject(pacing, 1_000, 20_000)).toBe(20_000 + returnMs);
    expect([pacing.waitMs(1_000, 0), pacing.blockedMs(1_000)]).toEqual([
      20_000 + returnMs,
      20_000 + returnMs,
    ]);
    expect([pacing.waitMs(21_000 + returnMs, 0), pacing.blockedMs(21_000 + returnMs)]).toEqual([0, 0]);
  });

  it("starts again with two requests, and counts none that was sent before the pause ended", () => {
    const pacing = new AdaptivePacing(limit, false);
    accept(pacing, 120);
    reject(pacing, 1_000, 20_000);
    accept(pacing, 120, 900);
    expect(pacing.atOnceMax(0)).toBe(1);
    expect(pacing.waitMs(70_000, 2)).toBe(0);
    pacing.permitted(70_000);
    expect(pacing.waitMs(70_000, 2)).toBe(500);
  });

  it("spreads calls over the rest of the window in which the counted requests leave, less a tenth", () => {
    const pacing = new AdaptivePacing(limit, false);
    reject(pacing, 0, 24_000);
    pacing.permitted(30_000);
    expect([pacing.capacity(30_000), pacing.waitMs(30_000, 0)]).toEqual([120, (1.1 * 36_000) / 120]);
    pacing.permitted(60_000);
    expect(pacing.waitMs(60_000, 0)).toBe(0);
  });

  it("does not spread calls when all that was counted leaves at once", () => {
    const pacing = new AdaptivePacing(limit, false);
    reject(pacing, 0, 60_000);
    pacing.permitted(60_500);
    expect(pacing.waitMs(60_500, 0)).toBe(0);
  });

  it("counts the 429s of one burst once", () => {
    const pacing = new AdaptivePacing(limit, false);
    reject(pacing, 0, 1_000, 0);
    for (const atMs of [10, 20, 30]) reject(pacing, atMs, 1_000, 0);
    expect(pacing.capacity(40)).toBe(120);
  });
});

describe("the adaptive pacing after a second 429", () => {
  it.each([
    [100, 100],
    [60, 60],
    [3, 60],
  ])("keeps what this process got, or half of its capacity (%i requests: %i)", (own, capacity) => {
    const pacing = rejectTwice(own);
    expect(pacing.capacity(20_000)).toBe(capacity);
    pacing.permitted(20_000);
    expect(pacing.waitMs(20_000, 0)).toBe(60_000 / capacity);
  });

  it("keeps a twentieth of the limit after many of them", () => {
    const pacing = rejectTwice(0);
    for (let atMs = 20_000; atMs < 120_000; atMs += 10_000) reject(pacing, atMs, 10_000 - returnMs, 0);
    expect(pacing.capacity(120_000)).toBe(6);
  });

  it("doubles its capacity with each window without a 429, and paces no more one window after the limit", () => {
    const pacing = rejectTwice(40);
    const capacities = [79_999, 80_000, 139_999].map((nowMs) => pacing.capacity(nowMs));
    expect(capacities).toEqual([60, 120, 120]);
    pacing.permitted(139_999);
    expect(pacing.waitMs(139_999, 0)).toBe(500);
    expect(pacing.waitMs(140_000, 0)).toBe(0);
  });
});

describe("the pause of the adaptive pacing", () => {
  it("doubles with each 429 in a row without Retry-After, up to a window", () => {
    const pacing = new AdaptivePacing(limit, false);
    const pauses: number[] = [];
    for (let nowMs = 0, count = 0; count < 8; count += 1) {
      const pauseMs = reject(pacing, nowMs, undefined);
      pauses.push(pauseMs - returnMs);
      nowMs += pauseMs;
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("begins with a second again after a request that was accepted", () => {
    const pacing = new AdaptivePacing(limit, false);
    reject(pacing, 0, undefined);
    expect(reject(pacing, 10, undefined)).toBe(1_000 + returnMs);
    accept(pacing, 1, 3_000);
    expect(reject(pacing, 5_000, undefined)).toBe(1_000 + returnMs);
  });

  it("is replaced by Retry-After, unless that is 0", () => {
    const pauses = [500, 0].map((retryAfterMs) => {
      return reject(new AdaptivePacing(limit, false), 0, retryAfterMs) - returnMs;
    });
    expect(pauses).toEqual([500, 1_000]);
  });

  it("is at most five windows, whatever Retry-After says", () => {
    expect(reject(new AdaptivePacing(limit, false), 0, 86_400_000)).toBe(300_000 + returnMs);
  });
});
