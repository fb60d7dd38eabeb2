// The clock of the store that all receiver processes share, as that of a database server. It is set by hours, in either
// direction, or by more than a year, while everything else keeps the true time.

import type { Clock } from "workspace-tasks/receiver-kit";
import type { SimulationRun } from "./actions.ts";

export interface StoreClock {
  readonly clock: Clock;
  /** Sets the clock to the true time plus `aheadMs`. */
  set(aheadMs: number): void;
}

const hourMs = 3_600_000;
const aheadMs = [0, hourMs, 12 * hourMs, -hourMs, -12 * hourMs, 400 * 24 * hourMs] as const;

export function createStoreClock(clock: Clock): StoreClock {
  let offsetMs = 0;
  return {
    clock: {
      now: () => clock.now() + offsetMs,
      monotonic: clock.monotonic,
      schedule: clock.schedule,
    },
    set(aheadMs) {
      offsetMs = aheadMs;
    },
  };
}

/** Sometimes sets the clock of the store. */
export function maybeSetStoreClock({ world }: SimulationRun): void {
  const random = world.random.stream(`store clock/${world.clock.now()}`);
  const ahead = random.pick(aheadMs);
  if (!world.settings.storeClockIsSet || !random.happens(0.15)) return;
  world.storeClock.set(ahead);
  world.trace.log(`the clock of the store is ${ahead / hourMs} h ahead`);
}
