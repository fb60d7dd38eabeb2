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
    window.responded(startMs, startMs + 100, startMs + 100);
  }
  return window;
}

/** The time from the response of one more request until its slot is free for this process. */
function freeInMs(window: SlidingWindow, startMs: number, roundTripMs = 100): number {
  window.start();
  const endMs = startMs + roundTripMs;
  window.responded(startMs, endMs, endMs);
  // With a capacity of one, all slots must become free.
  return window.waitMs(0, endMs, 1);
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
    expect(window.used(0)).toBe(3);
    expect(window.used(600_000)).toBe(3);
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

  it("a request without a response occupies its slot from the moment it was given up", () => {
    const window = new SlidingWindow(limit);
    window.start();
    expect(window.noResponse(0, 15_000)).toBe(freeAfterMs);
    expect(window.used(15_000 + freeAfterMs - 1)).toBe(1);
    expect(window.used(15_000 + freeAfterMs)).toBe(0);
  });

  it("three quarters of the fastest round trip are credited, from the second window on", () => {
    const window = windowWith(0);
    // The first response is less than a window old: no credit yet.
    expect(freeInMs(window, 30_000)).toBe(freeAfterMs);
    expect(freeInMs(window, 61_000)).toBe(freeAfterMs - 75);
  });

  it("nothing is credited to another process, which may have a faster path", () => {
    const window = windowWith(0, 61_000);
    window.start();
    expect(window.responded(70_000, 70_100, 70_150)).toBe(freeAfterMs - 50);
  });

  it("the credit begins one window after the first response, whatever the clock shows", () => {
    const window = windowWith(1_000_000);
    expect(freeInMs(window, 1_030_000)).toBe(freeAfterMs);
    expect(freeInMs(window, 1_059_999)).toBe(freeAfterMs);
    expect(freeInMs(window, 1_060_000)).toBe(freeAfterMs - 75);
  });

  it("a fast round trip is remembered for five minutes at least and forgotten after ten", () => {
    const window = windowWith(0, 61_000);
    const creditAt = (startMs: number, roundTripMs: number) =>
      freeAfterMs - freeInMs(window, startMs, roundTripMs);
    expect(creditAt(100_000, 20)).toBe(15);
    expect(creditAt(299_900, 100)).toBe(15);
    // The first five minutes end here.
    expect(creditAt(300_000, 100)).toBe(15);
    expect(creditAt(599_900, 100)).toBe(15);
    expect(creditAt(600_100, 100)).toBe(75);
  });

  it("slots are in the order in which they become free, also when a smaller credit changes it", () => {
    const window = windowWith(0, 61_000);
    const lostAtMs = 200_000;
    for (let count = 0; count < 3; count += 1) window.start();
    // Freed 75 ms later than a response at that time would be, so the response 50 ms later is before it.
    window.noResponse(lostAtMs - 1_000, lostAtMs);
    window.responded(lostAtMs - 50, lostAtMs + 50, lostAtMs + 50);
    window.responded(lostAtMs + 60, lostAtMs + 80, lostAtMs + 80);
    // With a credit of 15 ms the lost one is the first again.
    expect(window.used(lostAtMs + freeAfterMs - 1)).toBe(3);
    expect(window.used(lostAtMs + freeAfterMs)).toBe(2);
    expect(window.used(lostAtMs + 50 + freeAfterMs - 15)).toBe(1);
  });

  it("a response after a lost one is before it while its credit is larger", () => {
    const window = windowWith(0, 61_000);
    const lostAtMs = 200_000;
    for (let count = 0; count < 2; count += 1) window.start();
    window.noResponse(lostAtMs - 1_000, lostAtMs);
    window.responded(lostAtMs - 90, lostAtMs + 10, lostAtMs + 10);
    expect(window.used(lostAtMs + 10 + freeAfterMs - 76)).toBe(2);
    expect(window.used(lostAtMs + 10 + freeAfterMs - 75)).toBe(1);
    expect(window.used(lostAtMs + freeAfterMs)).toBe(0);
  });

  it("a request without a response gets no credit", () => {
    const window = windowWith(0, 61_000);
    window.start();
    expect(window.noResponse(69_000, 70_000)).toBe(freeAfterMs);
  });

  describe("a request that is aborted at once may arrive", () => {
    const freeAfterAbortMs = (window: SlidingWindow, startMs: number, abortedAfterMs = 10) => {
      window.start();
      return window.noResponse(startMs, startMs + abortedAfterMs);
    };

    it("a second after its start, whatever round trips are known", () => {
      expect(freeAfterAbortMs(new SlidingWindow(limit), 0)).toBe(990 + freeAfterMs);
      expect(freeAfterAbortMs(windowWith(0), 70_000)).toBe(990 + freeAfterMs);
      expect(freeAfterAbortMs(windowWith(0), 70_000, 1_000)).toBe(freeAfterMs);
    });

    it("as late as the slowest round trip of the last five to ten minutes", () => {
      const window = windowWith(0);
      freeInMs(window, 61_000, 2_000);
      expect(freeAfterAbortMs(window, 70_000)).toBe(1_990 + freeAfterMs);
      freeInMs(window, 310_000);
      expect(freeAfterAbortMs(window, 320_000)).toBe(1_990 + freeAfterMs);
      freeInMs(window, 620_000);
      expect(freeAfterAbortMs(window, 630_000)).toBe(990 + freeAfterMs);
    });

    it("as late as one that ends after it", () => {
      const window = new SlidingWindow(limit);
      freeAfterAbortMs(window, 0);
      freeInMs(window, 10, 3_000);
      expect(window.used(3_000 + freeAfterMs - 1)).toBe(2);
      expect(window.used(3_000 + freeAfterMs)).toBe(1);
    });

    it("no later than five seconds after its start: a slow response is mostly slow work", () => {
      const window = windowWith(0);
      freeInMs(window, 61_000, 300_000);
      expect(freeAfterAbortMs(window, 400_000)).toBe(4_990 + freeAfterMs);
    });

    it("after a response that ends later, which is then in front of it", () => {
      const window = new SlidingWindow(limit);
      for (let count = 0; count < 3; count += 1) window.start();
      window.noResponse(0, 10);
      window.responded(1_400, 1_500, 1_500);
      // From here on the first one counts from 3,000.
      window.responded(0, 3_000, 3_000);
      expect(window.used(1_500 + freeAfterMs)).toBe(2);
      expect(window.used(3_000 + freeAfterMs)).toBe(0);
    });

    it("and a call behind such requests waits for the first of them", () => {
      const window = new SlidingWindow(limit);
      for (let count = 0; count < 3; count += 1) freeAfterAbortMs(window, 0);
      expect(window.waitMs(0, 10)).toBe(990 + freeAfterMs);
    });

    it("and a call behind it does not wait for its slot while another request is in flight", () => {
      const window = new SlidingWindow(limit);
      for (let count = 0; count < 2; count += 1) window.start();
      freeAfterAbortMs(window, 0);
      expect(window.waitMs(0, 10)).toBe(freeAfterMs);
    });
  });

  it("a faster round trip reduces the credit, also for slots that seemed free", () => {
    const window = windowWith(0, 61_000);
    // The slot of 61,000 is free 75 ms early with a round trip of 100 ms, and 15 ms early with one of 20 ms.
    const earlyMs = 61_100 + freeAfterMs - 50;
    expect(window.used(earlyMs)).toBe(0);
    window.start();
    window.responded(earlyMs - 20, earlyMs, earlyMs);
    expect(window.used(earlyMs)).toBe(2);
  });

  it("recentCount includes slots that have just become free, for a twentieth of a window", () => {
    const window = windowWith(0);
    expect([window.used(61_000), window.recentCount(61_000)]).toEqual([0, 1]);
    expect(window.recentCount(100 + 63_000)).toBe(0);
  });

  it("a slot of a short window counts until it is free, and the window is idle then", () => {
    const window = new SlidingWindow({ limit: 3, windowMs: 100 });
    window.start();
    expect(window.isIdle(0)).toBe(false);
    window.responded(0, 0, 0);
    expect([window.used(110), window.recentCount(110), window.isIdle(110)]).toEqual([1, 1, false]);
    expect([window.used(125), window.recentCount(125), window.isIdle(125)]).toEqual([0, 0, true]);
  });

  it("a smaller capacity or limit makes calls wait, although slots of the old limit are free", () => {
    const window = windowWith(0);
    expect(window.waitMs(0, 100, 1)).toBe(freeAfterMs);
    window.configure({ limit: 1, windowMs: 60_000 });
    expect(window.waitMs(0, 100)).toBe(freeAfterMs);
    expect(window.isIdle(100 + freeAfterMs)).toBe(true);
  });
});
