import type { Clock } from "../../sdk/kernel/clock.ts";
import { MockServerError } from "../errors.ts";
import type { RunUntilOptions, VirtualClock } from "./virtual-clock.ts";

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

export function createMockClock(clock: Clock | VirtualClock): MockClock {
  const virtual = "advance" in clock ? clock : null;
  return {
    // With the methods of a virtual clock: another mock with this clock can advance it too.
    ...clock,
    mode: virtual ? "virtual" : "real",
    async advance(by) {
      if (!virtual) {
        throw new MockServerError("CLOCK_IS_REAL", "a real clock cannot be advanced; use a virtual one");
      }
      return virtual.advance(by);
    },
    runUntil: (promise, options) => (virtual ? virtual.runUntil(promise, options) : promise),
    async settle() {
      await virtual?.settle();
    },
  };
}
