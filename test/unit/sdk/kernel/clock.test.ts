import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSystemClock, systemClock, timerDelayMsMax } from "../../../../sdk/kernel/clock.ts";

describe("the clock of the machine", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("runs a timer once after its delay, and one with a negative delay in the next turn", () => {
    const runs: string[] = [];
    systemClock.schedule(5, () => runs.push("later"));
    systemClock.schedule(-1, () => runs.push("now"));
    vi.advanceTimersByTime(0);
    expect(runs).toEqual(["now"]);
    vi.advanceTimersByTime(100);
    expect(runs).toEqual(["now", "later"]);
  });

  it("a delay longer than a timer of Node can have is waited for as a whole, and can be cancelled in every part", () => {
    const run = vi.fn();
    const cancelled = vi.fn();
    systemClock.schedule(2 * timerDelayMsMax + 10, run);
    const cancel = systemClock.schedule(2 * timerDelayMsMax, cancelled);
    vi.advanceTimersByTime(timerDelayMsMax + 1);
    cancel();
    vi.advanceTimersByTime(timerDelayMsMax + 8);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledTimes(1);
    expect(cancelled).not.toHaveBeenCalled();
  });

  it("cancels a timer with what started it, also when fake timers were installed since", () => {
    const cleared: unknown[] = [];
    const timers = {
      ...globalThis,
      performance,
      setTimeout,
      clearTimeout: (id: unknown) => cleared.push(id),
    };
    const cancel = createSystemClock(timers as never).schedule(5, () => {});
    timers.clearTimeout = () => expect.unreachable();
    cancel();
    expect(cleared).toHaveLength(1);
  });
});
