import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";

describe("virtual clock", () => {
  it("does not move until it is advanced", async () => {
    const clock = createVirtualClock(1_000);
    let fired = false;
    clock.schedule(1, () => {
      fired = true;
    });
    await clock.settle();
    expect([clock.now(), fired]).toEqual([1_000, false]);
    await clock.advance(1);
    expect([clock.now(), clock.monotonic(), fired]).toEqual([1_001, 1, true]);
  });

  it("rejects a start that is not a number of milliseconds", () => {
    expect(() => createVirtualClock("2026-01-15" as never)).toThrow(
      'createVirtualClock: startMs: expected a number, got "2026-01-15"',
    );
  });

  it("fires timers by due time, then in the order in which they were scheduled", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 20 }), { maxLength: 60 }), async (delays) => {
        const clock = createVirtualClock();
        const fired: { delayMs: number; index: number }[] = [];
        delays.forEach((delayMs, index) => {
          clock.schedule(delayMs, () => {
            expect(clock.monotonic()).toBe(delayMs);
            fired.push({ delayMs, index });
          });
        });
        expect(await clock.advance(20)).toBe(delays.length);
        const expected = delays.map((delayMs, index) => ({ delayMs, index }));
        expected.sort((a, b) => a.delayMs - b.delayMs || a.index - b.index);
        expect(fired).toEqual(expected);
      }),
      { seed: 3, numRuns: 50 },
    );
  });

  it("runs timers that timers schedule at their own time", async () => {
    const clock = createVirtualClock(0);
    const seen: number[] = [];
    const again = () => {
      seen.push(clock.now());
      if (seen.length < 4) clock.schedule(10, again);
    };
    clock.schedule(5, again);
    await clock.advance(100);
    expect([seen, clock.now()]).toEqual([[5, 15, 25, 35], 100]);
  });

  it("does not fire a cancelled timer, even one cancelled by a timer of the same instant", async () => {
    const clock = createVirtualClock();
    const fired: string[] = [];
    const cancelEarly = clock.schedule(5, () => fired.push("early"));
    clock.schedule(7, () => cancelLate());
    const cancelLate = clock.schedule(7, () => fired.push("late"));
    cancelEarly();
    cancelEarly();
    expect(clock.pending().timers).toBe(2);
    await clock.advance(10);
    expect([fired, clock.pending().timers]).toEqual([[], 0]);
  });

  it("waits for tracked work before the next instant", async () => {
    const clock = createVirtualClock(0);
    const order: string[] = [];
    const slow = async () => {
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
      order.push(`work done at ${clock.now()}`);
    };
    clock.schedule(1, () => void clock.track(slow()));
    clock.schedule(2, () => order.push("next instant"));
    await clock.advance(2);
    expect(order).toEqual(["work done at 1", "next instant"]);
  });

  it("without tracking, the next instant overtakes the work", async () => {
    const clock = createVirtualClock(0);
    const order: string[] = [];
    const slow = async () => {
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
      order.push("work done");
    };
    clock.schedule(1, () => void slow());
    clock.schedule(2, () => order.push("next instant"));
    await clock.advance(2);
    expect(order[0]).toBe("next instant");
  });

  it("continues after tracked work that fails", async () => {
    const clock = createVirtualClock();
    const failure = clock.track(Promise.reject(new Error("refused")));
    await expect(failure).rejects.toThrow("refused");
    await expect(clock.advance(1)).resolves.toBe(0);
  });

  it("runs two advances one after the other", async () => {
    const clock = createVirtualClock(0);
    await Promise.all([clock.advance(10), clock.advance(5)]);
    expect(clock.now()).toBe(15);
  });

  it("sets wall time without moving timers or monotonic time", async () => {
    const clock = createVirtualClock(1_000);
    let firedAt = 0;
    clock.schedule(10, () => {
      firedAt = clock.now();
    });
    clock.setNow(0);
    await clock.advance(10);
    expect([firedAt, clock.monotonic()]).toEqual([10, 10]);
  });
});
