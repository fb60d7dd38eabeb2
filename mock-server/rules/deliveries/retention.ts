import type { DeliveryRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { emitDelivery, isUnfinished } from "./delivery-record.ts";

/**
 * Keeps the number of deliveries within `settings.bounds.deliveriesMax`. The oldest finished ones are discarded
 * first; only without any left is an unfinished one discarded, with an activity that says so. One percent is
 * discarded at a time, so that all deliveries are rarely walked.
 * @returns the unfinished ones that were discarded
 */
export function discardOldDeliveries(world: World): readonly DeliveryRecord[] {
  const { deliveries } = world.state;
  const max = world.settings.bounds.deliveriesMax;
  if (deliveries.size <= max) return [];
  const target = Math.max(0, Math.min(max, max - Math.floor(max / 100)));

  const discarded: DeliveryRecord[] = [];
  for (const delivery of deliveries.values()) {
    if (deliveries.size <= target) break;
    if (!isUnfinished(delivery)) deliveries.delete(delivery.id);
  }
  for (const delivery of deliveries.values()) {
    if (deliveries.size <= max) break;
    deliveries.delete(delivery.id);
    delivery.status = "cancelled";
    discarded.push(delivery);
    emitDelivery(world, "delivery.discarded", delivery, { reason: `the limit is ${max} deliveries` });
  }
  discardEventsWithoutDelivery(world);
  return discarded;
}

function discardEventsWithoutDelivery(world: World): void {
  const kept = new Set<string>();
  for (const { eventId } of world.state.deliveries.values()) kept.add(eventId);
  for (const id of world.state.events.keys()) if (!kept.has(id)) world.state.events.delete(id);
}
