// The clock of the store that all receiver processes share, as that of a database server. It is set by hours, in either
// direction, or by more than a year, while everything else keeps the true time.

import type { Clock } from "@workspace-tasks/receiver-kit";
import type { SimulationRun } from "./actions.ts";
import { leaseMs, pollMs } from "./simulated-receiver.ts";

export interface StoreClock {
  readonly clock: Clock;
  /** Sets the clock to the true time plus `aheadMs`. */
  set(aheadMs: number): void;
  /** When it was last set, in true time. */
  readonly setAtMs: number;
  /** Whether leases that had not ended may have been taken over since the clock was set. */
  mayHaveEndedLeases(): boolean;
}

const hourMs = 3_600_000;
const slowestCallMs = 30_000;
const aheadMs = [0, hourMs, 12 * hourMs, -hourMs, -12 * hourMs, 400 * 24 * hourMs] as const;

export function createStoreClock(clock: Clock): StoreClock {
  let offsetMs = 0;
  let setAtMs = Number.NEGATIVE_INFINITY;
  return {
    clock: {
      now: () => clock.now() + offsetMs,
      monotonic: clock.monotonic,
      schedule: clock.schedule,
    },
    set(aheadMs) {
      offsetMs = aheadMs;
      setAtMs = clock.now();
    },
    get setAtMs() {
      return setAtMs;
    },
    mayHaveEndedLeases: () => clock.now() < setAtMs + 2 * leaseMs,
  };
}

/** Sometimes sets the clock of the store, and leaves it so for longer than its slowest call takes. */
export async function maybeSetStoreClock({ world, receivers, service }: SimulationRun): Promise<void> {
  const random = world.random.stream(`store clock/${world.clock.now()}`);
  const ahead = random.pick(aheadMs);
  // Mostly while an event is being handled, when a lease is at stake.
  const probability = receivers.effects.isHandling() ? 0.9 : 0.2;
  const hasSettled = world.clock.now() - world.storeClock.setAtMs > pollMs + slowestCallMs;
  if (!world.settings.storeClockIsSet || !random.happens(probability) || !hasSettled) return;
  world.storeClock.set(ahead);
  world.meet("storeClockSet");
  // Its delivery makes the receivers claim rows before the leases are renewed.
  await service.mock.control.startTask({ taskType: "BINDER", progression: "immediate" });
  world.trace.log(`the clock of the store is ${ahead / hourMs} h ahead`);
}
