import { describe, expect, it } from "vitest";
import { SlidingWindow } from "../../../../sdk/rate-limit/sliding-window.ts";

// Three requests per minute. Times are milliseconds; a slot is free a window and a margin of 25 ms after its response.
const limit = { limit: 3, windowMs: 60_000 };
const freeAfterMs = 60_025;

/** A window with a request started at each of these times, each with a response 100 ms later. */
function windowWith(...startedAtMs: readonly number[]): SlidingWindow {
  const window = new SlidingWindow(limit);
  for (const startMs of startedAtMs) {
    window.start();
    window.responded(startMs + 100);
  }
  return window;
}

describe("the sliding window", () => {
  it("an unused window permits requests up to the limit at once", () => {
    const window = new SlidingWindow(limit);
    expect([0, 1, 2].map((ahead) => window.waitMs(ahead, 0))).toEqual([0, 0, 0]);
    expect(window.waitMs(3, 0)).toBe(freeAfterMs);
  });

  it("requests in flight count, however long they take", () => {
    const window = new SlidingWindow(limit);
    for (let count = 0; count < 3; count += 1) window.start();
    expect([window.inFlight, window.used(0), window.used(600_000)]).toEqual([3, 3, 3]);
    expect(window.waitMs(0, 600_000)).toBeGreaterThan(0);
  });

  it("a slot is free one window after its response, not after its request", () => {
    const window = windowWith(0, 1_000, 2_000);
    expect(window.waitMs(0, 2_100)).toBe(100 + freeAfterMs - 2_100);
    expect(window.used(100 + freeAfterMs - 1)).toBe(3);
    expect(window.used(100 + freeAfterMs)).toBe(2);
    expect(window.waitMs(0, 100 + freeAfterMs)).toBe(0);
  });

  it("calls further back in the queue wait for later slots", () => {
    const window = windowWith(0, 1_000, 2_000);
    const waits = [0, 1, 2].map((ahead) => window.waitMs(ahead, 2_100));
    expect(waits).toEqual([58_025, 59_025, 60_025]);
  });

  it("a call behind a full window of others waits one window longer", () => {
    const window = windowWith(0, 1_000, 2_000);
    expect(window.waitMs(3, 2_100)).toBe(window.waitMs(0, 2_100) + 60_000);
  });

  it("a released slot is free at once: its request did not count", () => {
    const window = new SlidingWindow(limit);
    for (let count = 0; count < 3; count += 1) window.start();
    window.release();
    expect(window.used(0)).toBe(2);
    expect(window.waitMs(0, 0)).toBe(0);
  });

  it.each([
    ["without a response occupies its slot from the moment it was given up", 15_000, 15_000],
    ["that is given up early may still arrive, five seconds after its start at the latest", 10, 5_000],
  ])("a request %s", (_, givenUpAtMs, arrivesMs) => {
    const window = new SlidingWindow(limit);
    window.start();
    window.noResponse(0, givenUpAtMs);
    expect(window.used(arrivesMs + freeAfterMs - 1)).toBe(1);
    expect(window.used(arrivesMs + freeAfterMs)).toBe(0);
  });

  it("a response that arrives before a request that was given up makes its slot free first", () => {
    const window = new SlidingWindow(limit);
    for (let count = 0; count < 3; count += 1) window.start();
    window.noResponse(0, 10);
    window.responded(100);
    expect(window.used(100 + freeAfterMs)).toBe(2);
    window.responded(100);
    expect(window.used(100 + freeAfterMs)).toBe(1);
    expect(window.used(5_000 + freeAfterMs)).toBe(0);
  });

  it("a call behind requests that were given up waits for the first of them", () => {
    const window = new SlidingWindow(limit);
    for (let count = 0; count < 3; count += 1) {
      window.start();
      window.noResponse(count, 10);
    }
    expect(window.waitMs(0, 10)).toBe(4_990 + freeAfterMs);
  });

  it("a call does not wait for the slot of a request that was given up while another one is in flight", () => {
    const window = new SlidingWindow(limit);
    for (let count = 0; count < 3; count += 1) window.start();
    window.noResponse(0, 10);
    expect(window.waitMs(0, 10)).toBe(freeAfterMs);
  });

  it("a slot of a short window counts until it is free", () => {
    const window = new SlidingWindow({ limit: 3, windowMs: 100 });
    window.start();
    window.responded(0);
    expect([window.used(124), window.used(125)]).toEqual([1, 0]);
  });

  // Work for each of those that count would take hours.
  it("a request costs the same however many count", () => {
    const window = new SlidingWindow({ limit: 200_000, windowMs: 100_000 });
    for (let nowMs = 0; nowMs < 600_000; nowMs += 1) {
      window.start();
      window.responded(nowMs);
      window.waitMs(0, nowMs);
    }
    expect(window.used(600_000)).toBe(100_024);
  });
});
