import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";

describe("virtual clock", () => {
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

describe("the limits of a virtual clock", () => {
  it.for([1e300, "99999999999d", `${"9".repeat(400)}d`, 8e15, Number.NaN, Number.POSITIVE_INFINITY, -1])(
    "reject an advance by %s, and time moves on from where it was",
    async (by) => {
      const clock = createVirtualClock();
      const startMs = clock.now();
      await expect(clock.advance(by)).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
      await clock.advance("1s");
      expect([clock.now() - startMs, clock.monotonic()]).toEqual([1_000, 1_000]);
    },
  );

  it("reject a wall time that RFC 3339 cannot express", () => {
    for (const timeMs of [1e300, 8.64e15, Number.NaN]) {
      expect(() => createVirtualClock(timeMs)).toThrow("year 9999");
      expect(() => createVirtualClock().setNow(timeMs)).toThrow("year 9999");
    }
  });

  it("let a delay that is not a number fire at once, and keep the order of the others", async () => {
    const clock = createVirtualClock(0);
    const fired: string[] = [];
    clock.schedule(5, () => fired.push("later"));
    clock.schedule(Number.NaN, () => fired.push("now"));
    clock.schedule(1, () => fired.push("soon"));
    await clock.advance(10);
    expect(fired).toEqual(["now", "soon", "later"]);
  });
});

describe("work that a virtual clock waits for", () => {
  it("is named when it does not end, and does not stop time a second time", async () => {
    const clock = createVirtualClock(0, { waitLimitMs: 20 });
    void clock.track(new Promise(() => undefined), { what: "a lost promise" });
    await expect(clock.advance(1)).rejects.toMatchObject({
      code: "CLOCK_BLOCKED",
      message: expect.stringContaining("a lost promise"),
    });
    await clock.advance(1);
    expect(clock.now()).toBe(1);
  });

  it("lets time move while it is paused, and after it is released", async () => {
    const clock = createVirtualClock(0, { waitLimitMs: 20 });
    const hold = clock.hold({ what: "work" });
    hold.pause();
    await clock.advance(1);
    hold.resume();
    await expect(clock.advance(1)).rejects.toMatchObject({ code: "CLOCK_BLOCKED" });
    hold.release();
    hold.resume();
    await clock.advance(1);
    expect(clock.now()).toBe(2);
  });
});

describe("runUntil", () => {
  it("moves time from timer to timer and returns the promise", async () => {
    const clock = createVirtualClock(0);
    const later = new Promise<number>((resolve) => {
      clock.schedule(10, () => clock.schedule(5, () => resolve(clock.now())));
    });
    clock.schedule(1_000, () => undefined);
    expect(await clock.runUntil(later)).toBe(15);
    expect(clock.now()).toBe(15);
  });

  it("takes turns with an advance that the promise depends on", async () => {
    const clock = createVirtualClock(0);
    const work = async () => {
      await clock.advance(10);
      return clock.now();
    };
    expect(await clock.runUntil(work())).toBe(10);
  });

  it("waits in real time for what the clock does not know of", async () => {
    const clock = createVirtualClock(0);
    const outside = new Promise<string>((resolve) => setTimeout(() => resolve("done"), 20));
    expect(await clock.runUntil(outside)).toBe("done");
  });
});
