import type { Clock } from "../../sdk/kernel/clock.ts";
import { parseDurationMs } from "../time/duration.ts";
import { createMockClock, type MockClock } from "../time/mock-clock.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import type { WorldHolder } from "./world-holder.ts";

/** The clock of a mock as tests move it. Each move is an activity, after which the inspector reads the state again. */
export function createWorldClock(worlds: WorldHolder, clock: Clock | VirtualClock): MockClock {
  const mockClock = createMockClock(clock);
  if (mockClock.mode === "real") return mockClock;
  const report = (byMs: number, fired: number | null) =>
    worlds.current.emit({ type: "clock.advanced", byMs, fired });
  return {
    ...mockClock,
    async advance(by) {
      const fired = await mockClock.advance(by);
      report(parseDurationMs(by) ?? 0, fired);
      return fired;
    },
    async runUntil(promise, options) {
      const startMs = clock.now();
      try {
        return await mockClock.runUntil(promise, options);
      } finally {
        if (clock.now() !== startMs) report(clock.now() - startMs, null);
      }
    },
  };
}
