import { describe, expect, it } from "vitest";
import { SlowStart } from "../../../../sdk/rate-limit/slow-start.ts";

// 120 requests per minute. After a rejection all calls wait for Retry-After, a margin of 50 ms and half of 200 ms of jitter.
const limit = { limit: 120, windowMs: 60_000 };
const returnMs = 150;
const half = () => 0.5;

/** A 429 of a request that was sent at the same time. */
function reject(start: SlowStart, atMs: number, retryAfterMs: number | undefined): number {
  return start.rejected(atMs, atMs, retryAfterMs, half);
}

function accept(start: SlowStart, count: number, startedAtMs = 0): void {
  for (let each = 0; each < count; each += 1) start.accepted(startedAtMs);
}

describe("the start", () => {
  it("lets two requests be in flight, then as many as were accepted, and all after a whole limit", () => {
    const inFlightMax = (accepted: number) => {
      const start = new SlowStart(limit, false);
      accept(start, accepted);
      return start.atOnceMax(0, 0);
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
    const start = new SlowStart(limit, false);
    expect(start.waitMs(0, 0)).toBe(0);
    start.permitted(0);
    expect([start.waitMs(0, 1), start.waitMs(0, 2), start.waitMs(400, 2), start.waitMs(500, 2)]).toEqual([
      0, 500, 100, 0,
    ]);
    expect(start.atOnceMax(0, 2)).toBe(1);
  });

  it("lets all requests be in flight when a store counts those of the others", () => {
    expect(new SlowStart(limit, true).atOnceMax(0, 0)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("the start after a 429", () => {
  it("makes all calls wait as long as Retry-After says, and a little longer", () => {
    const start = new SlowStart(limit, false);
    expect(reject(start, 1_000, 20_000)).toBe(20_000 + returnMs);
    expect([start.waitMs(1_000, 0), start.blockedMs(1_000)]).toEqual([20_000 + returnMs, 20_000 + returnMs]);
    expect([start.waitMs(21_000 + returnMs, 0), start.blockedMs(21_000 + returnMs)]).toEqual([0, 0]);
  });

  it("starts again with two requests, and counts none that was sent before the pause ended", () => {
    const start = new SlowStart(limit, false);
    accept(start, 120);
    reject(start, 1_000, 20_000);
    accept(start, 120, 900);
    expect([start.atOnceMax(60_999, 0), start.atOnceMax(61_000, 0)]).toEqual([1, 2]);
    expect(start.waitMs(70_000, 2)).toBe(0);
    start.permitted(70_000);
    expect(start.waitMs(70_000, 2)).toBe(500);
    accept(start, 5, 21_000 + returnMs);
    expect(start.atOnceMax(70_000, 0)).toBe(5);
  });

  it("spreads calls over the rest of the window in which the counted requests leave, less a tenth", () => {
    const start = new SlowStart(limit, false);
    reject(start, 0, 24_000);
    // One more of the same burst.
    start.rejected(0, 20_000, 4_000, half);
    start.permitted(30_000);
    expect(start.waitMs(30_000, 0)).toBe((1.1 * 36_000) / 120);
    start.permitted(60_000);
    expect(start.waitMs(60_000, 0)).toBe(0);
  });

  it("does not spread calls when all that was counted leaves at once", () => {
    const start = new SlowStart(limit, false);
    reject(start, 0, 60_000);
    start.permitted(60_500);
    expect(start.waitMs(60_500, 0)).toBe(0);
  });

  it("counts the 429s of one burst once, whose pause doubles otherwise", () => {
    const start = new SlowStart(limit, false);
    const pauses = [0, 10, 20].map((atMs) => reject(start, atMs, undefined) + atMs);
    expect(new Set(pauses.map((untilMs) => Math.round(untilMs / 100)))).toEqual(new Set([12]));
  });
});

describe("the pause after a 429", () => {
  it("doubles with each 429 in a row without Retry-After, up to a window", () => {
    const start = new SlowStart(limit, false);
    const pauses: number[] = [];
    for (let nowMs = 0, count = 0; count < 8; count += 1) {
      const pauseMs = reject(start, nowMs, undefined);
      pauses.push(pauseMs - returnMs);
      nowMs += pauseMs;
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("begins with a second again after a request that was accepted", () => {
    const start = new SlowStart(limit, false);
    reject(start, 0, undefined);
    expect(reject(start, 10, undefined)).toBe(1_000 + returnMs);
    accept(start, 1, 3_000);
    expect(reject(start, 5_000, undefined)).toBe(1_000 + returnMs);
  });

  it("is replaced by Retry-After, unless that is 0", () => {
    const pauses = [500, 0].map((retryAfterMs) => {
      return reject(new SlowStart(limit, false), 0, retryAfterMs) - returnMs;
    });
    expect(pauses).toEqual([500, 1_000]);
  });

  it("is at most five windows, whatever Retry-After says", () => {
    expect(reject(new SlowStart(limit, false), 0, 86_400_000)).toBe(300_000 + returnMs);
  });
});
