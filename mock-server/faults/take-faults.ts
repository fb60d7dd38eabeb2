import type { World } from "../world.ts";
import type { ApiFault, DeliveryFault } from "./fault.ts";
import type { ApiCall, ChanceSource, DeliveryAttempt } from "./fault-store.ts";

/** The faults that befall this API call, in order; each is logged and announced. */
export function takeApiFaults(world: World, call: ApiCall): readonly ApiFault[] {
  if (world.faults.empty) return [];
  const fired = world.faults.takeApi(call, chanceOf(world));
  for (const entry of fired) world.announce({ type: "fault.fired", entry });
  return fired.map(({ fault }) => fault);
}

/** The faults that befall this delivery attempt, in order; each is logged and announced. */
export function takeDeliveryFaults(world: World, attempt: DeliveryAttempt): readonly DeliveryFault[] {
  if (world.faults.empty) return [];
  const fired = world.faults.takeDelivery(attempt, chanceOf(world));
  for (const entry of fired) world.announce({ type: "fault.fired", entry });
  return fired.map(({ fault }) => fault);
}

const chanceOf = (world: World): ChanceSource => ({
  number: (stream) => world.random.number(stream),
  nowMs: () => world.clock.now(),
});
