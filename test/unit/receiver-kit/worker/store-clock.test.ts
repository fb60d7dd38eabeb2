import { describe, expect, it } from "vitest";
import { StoreClock } from "../../../../receiver-kit/worker/store-clock.ts";

const leaseMs = 30_000;

/** A response that took 10 ms, of an inbox whose clock is `aheadMs` ahead of the monotonic clock. */
const response = (sentMs: number, aheadMs: number) => ({
  sentMs,
  receivedMs: sentMs + 10,
  nowMs: sentMs + 5 + aheadMs,
});

describe("StoreClock", () => {
  it("follows a clock that runs evenly, and reports no jump", () => {
    const clock = new StoreClock(leaseMs);
    expect(clock.reclaimUntilMs(0)).toBeNull();
    for (let at = 0; at < 100_000; at += 1_000) expect(clock.observe(response(at, 5_000_000))).toBe(0);
    expect(clock.reclaimUntilMs(200_000)).toBe(200_000 + 5_000_000 - 5);
    expect(clock.stats).toEqual({ jumps: 0, lastJumpMs: null });
  });

  it("does not take a slow response for a jump", () => {
    const clock = new StoreClock(leaseMs);
    clock.observe(response(0, 0));
    expect(clock.observe({ sentMs: 1_000, receivedMs: 13_000, nowMs: 12_900 })).toBe(0);
    expect(clock.observe({ sentMs: 13_000, receivedMs: 25_000, nowMs: 13_100 })).toBe(0);
  });

  it("reclaims by the old time for one lease after the clock was set forward", () => {
    const clock = new StoreClock(leaseMs);
    clock.observe(response(0, 0));
    const jumpMs = 3 * 3_600_000;
    expect(Math.abs(clock.observe(response(1_000, jumpMs)) - jumpMs)).toBeLessThanOrEqual(10);
    expect(clock.reclaimUntilMs(2_000)).toBeLessThan(2_000 + 10);
    clock.observe(response(20_000, jumpMs));
    expect(clock.reclaimUntilMs(31_000)).toBeLessThan(31_000 + 10);
    expect(clock.reclaimUntilMs(1_010 + leaseMs)).toBeGreaterThan(jumpMs);
    expect(clock.stats.jumps).toBe(1);
  });

  it("reports a clock that was set back, and follows it at once", () => {
    const clock = new StoreClock(leaseMs);
    clock.observe(response(0, 7_200_000));
    expect(clock.observe(response(1_000, 0))).toBeLessThan(-7_199_000);
    expect(clock.reclaimUntilMs(2_000)).toBeLessThanOrEqual(2_000);
    expect(clock.stats.lastJumpMs).toBeLessThan(-7_199_000);
  });

  it.each([
    [1_000, 0],
    [1_001, 1_001],
    [-1_000, 0],
    [-1_001, -1_001],
  ])("takes a step of %i ms between two exact responses for one of %i ms", (byMs, jumpMs) => {
    const clock = new StoreClock(leaseMs);
    const exact = (atMs: number, aheadMs: number) => ({
      sentMs: atMs,
      receivedMs: atMs,
      nowMs: atMs + aheadMs,
    });
    clock.observe(exact(0, 5_000_000));
    expect(clock.observe(exact(1_000, 5_000_000 + byMs))).toBe(jumpMs);
    expect(clock.stats).toEqual({ jumps: jumpMs === 0 ? 0 : 1, lastJumpMs: jumpMs || null });
  });
});
