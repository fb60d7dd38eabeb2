import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { MockServerError } from "../errors.ts";
import { parseDurationMs } from "../time/duration.ts";
import type { RunUntilOptions, VirtualClock } from "../time/virtual-clock.ts";
import type { WorldHolder } from "./world-holder.ts";

/** The mock's clock. A virtual one can be shared with a client and a receiver. */
export interface MockClock extends Clock {
  readonly mode: "real" | "virtual";
  /**
   * Moves virtual time by milliseconds or text such as `"3m"`, `"7d"`. Resolves with the number of timers that fired,
   * once everything that became due has settled. Errors: `ARGUMENT_INVALID`, `CLOCK_IS_REAL`, `CLOCK_BLOCKED`.
   */
  advance(by: number | string): Promise<number>;
  /**
   * Moves virtual time from timer to timer until the promise settles, and returns it; on a real clock only returns it.
   * Errors: `CLOCK_BLOCKED` when it has not settled after `limit` (default `"30d"`).
   */
  runUntil<Result>(promise: Promise<Result>, options?: RunUntilOptions): Promise<Result>;
  /** Resolves when everything due now has settled; at once on a real clock. */
  settle(): Promise<void>;
}

/** The clock of a mock as tests move it. Each move is an activity, after which the inspector reads the state again. */
export function createWorldClock(worlds: WorldHolder, clock: Clock | VirtualClock): MockClock {
  const virtual = "advance" in clock ? clock : null;
  // The clock may be shared with others, and then moves on after the mock is closed.
  const report = (byMs: number, fired: number | null) => {
    if (!worlds.signal.aborted) worlds.current.emit({ type: "clock.advanced", byMs, fired });
  };
  return {
    // With the methods of a virtual clock: another mock with this clock can advance it too.
    ...clock,
    mode: virtual ? "virtual" : "real",
    async advance(by) {
      if (!virtual) {
        throw new MockServerError("CLOCK_IS_REAL", "a real clock cannot be advanced; use a virtual one");
      }
      const fired = await virtual.advance(by);
      report(parseDurationMs(by) ?? 0, fired);
      return fired;
    },
    async runUntil(promise, options) {
      const startMs = clock.now();
      const closed = deferred<never>();
      const close = () => closed.reject(worlds.signal.reason);
      worlds.signal.addEventListener("abort", close);
      try {
        const settled = Promise.race([promise, closed.promise]);
        return await (virtual ? virtual.runUntil(settled, options) : settled);
      } finally {
        worlds.signal.removeEventListener("abort", close);
        if (virtual && clock.now() !== startMs) report(clock.now() - startMs, null);
      }
    },
    async settle() {
      await virtual?.settle();
    },
  };
}
