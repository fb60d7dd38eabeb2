import { describe, expect, it } from "vitest";
import { AdaptivePacing } from "../../../../sdk/rate-limit/adaptive-pacing.ts";

// 120 requests per minute. After a rejection all calls wait for Retry-After, a margin of 50 ms and half of 200 ms of jitter.
const limit = { limit: 120, windowMs: 60_000 };
const returnMs = 150;
const half = () => 0.5;

describe("the adaptive pacing", () => {
  it("the only client of a key may use the whole limit at once", () => {
    const pacing = new AdaptivePacing(limit);
    for (let count = 0; count < 120; count += 1) pacing.permitted(0);
    expect([pacing.capacity(0), pacing.waitMs(0)]).toEqual([120, 0]);
  });

  it("a rejection makes all calls wait as long as Retry-After says", () => {
    const pacing = new AdaptivePacing(limit);
    expect(pacing.rejected(1_000, 20_000, 60, half)).toBe(20_000 + returnMs);
    expect(pacing.waitMs(1_000)).toBe(20_000 + returnMs);
    expect(pacing.waitMs(21_000 + returnMs)).toBe(0);
  });

  it("a rejection reduces the capacity to the requests that this process got", () => {
    const pacing = new AdaptivePacing(limit);
    pacing.rejected(0, 1_000, 60, half);
    expect(pacing.capacity(0)).toBe(60);
  });

  it("the capacity stays below the limit after a rejection and above a twentieth of it", () => {
    const [full, none] = [120, 0].map((own) => {
      const pacing = new AdaptivePacing(limit);
      pacing.rejected(0, 1_000, own, half);
      return pacing.capacity(0);
    });
    expect([full, none]).toEqual([119, 6]);
  });

  it("calls are evenly spaced while the capacity is reduced", () => {
    const pacing = new AdaptivePacing(limit);
    pacing.rejected(0, 1_000, 60, half);
    const nowMs = 1_000 + returnMs;
    expect(pacing.waitMs(nowMs)).toBe(0);
    pacing.permitted(nowMs);
    expect(pacing.waitMs(nowMs)).toBe(60_000 / 60);
    expect(pacing.waitMs(nowMs + 400)).toBe(600);
  });

  it("half of the missing capacity is added after each half window without a rejection", () => {
    const pacing = new AdaptivePacing(limit);
    pacing.rejected(0, 1_000, 60, half);
    const endMs = 1_000 + returnMs;
    const capacities = [29_999, 30_000, 60_000, 90_000].map((afterMs) => pacing.capacity(endMs + afterMs));
    expect(capacities).toEqual([60, 90, 105, 113]);
    expect(pacing.capacity(endMs + 240_000)).toBe(120);
  });

  it("pauses double with each rejection in a row without Retry-After, up to a window", () => {
    const pacing = new AdaptivePacing(limit);
    const pauses: number[] = [];
    for (let nowMs = 0, count = 0; count < 8; count += 1) {
      const pauseMs = pacing.rejected(nowMs, undefined, 60, half);
      pauses.push(pauseMs - returnMs);
      nowMs += pauseMs;
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("the rejections of one burst count as one, and a success ends the row", () => {
    const pacing = new AdaptivePacing(limit);
    expect(pacing.rejected(0, undefined, 60, half)).toBe(1_000 + returnMs);
    expect(pacing.rejected(10, undefined, 60, half)).toBe(1_000 + returnMs);
    pacing.succeeded();
    expect(pacing.rejected(5_000, undefined, 60, half)).toBe(1_000 + returnMs);
  });

  it("a Retry-After replaces the pause, unless it is 0", () => {
    const pauses = [500, 0].map((retryAfterMs) => {
      return new AdaptivePacing(limit).rejected(0, retryAfterMs, 60, half) - returnMs;
    });
    expect(pauses).toEqual([500, 1_000]);
  });

  it("the key is blocked from a rejection until the pause ends", () => {
    const pacing = new AdaptivePacing(limit);
    expect(pacing.isBlocked(0)).toBe(false);
    const pauseMs = pacing.rejected(0, 1_000, 60, half);
    expect([pauseMs - 1, pauseMs].map((nowMs) => pacing.isBlocked(nowMs))).toEqual([true, false]);
  });

  it("a pause is at most five windows, whatever Retry-After says", () => {
    const pacing = new AdaptivePacing(limit);
    expect(pacing.rejected(0, 86_400_000, 60, half)).toBe(300_000 + returnMs);
  });

  it("a new limit is used at once by a process at full capacity, and not by one at reduced capacity", () => {
    const [full, reduced] = [new AdaptivePacing(limit), new AdaptivePacing(limit)];
    reduced.rejected(0, 1_000, 60, half);
    for (const pacing of [full, reduced]) pacing.configure({ limit: 240, windowMs: 60_000 });
    expect([full.capacity(0), reduced.capacity(0)]).toEqual([240, 60]);
  });
});
