import type { DeliveryRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";

/**
 * Keeps the number of deliveries within `settings.bounds.deliveriesMax`. The oldest that are done go
 * first; only when none is left does a pending one go, and that is announced, for otherwise a delivery
 * would be lost in silence. A hundredth goes at a time, so that the walk is rare.
 * @returns the pending ones that were given up
 */
export function forgetOldDeliveries(world: World): readonly DeliveryRecord[] {
  const { deliveries } = world.state;
  const max = world.settings.bounds.deliveriesMax;
  if (deliveries.size <= max) return [];
  const target = Math.max(0, Math.min(max, max - Math.floor(max / 100)));

  const givenUp: DeliveryRecord[] = [];
  for (const delivery of deliveries.values()) {
    if (deliveries.size <= target) break;
    if (isDone(delivery)) deliveries.delete(delivery.id);
  }
  for (const delivery of deliveries.values()) {
    if (deliveries.size <= max) break;
    deliveries.delete(delivery.id);
    delivery.status = "cancelled";
    givenUp.push(delivery);
    world.emit({
      type: "delivery.discarded",
      deliveryId: delivery.id,
      reason: `more than ${max} are kept`,
    });
  }
  forgetEventsWithoutDelivery(world);
  return givenUp;
}

const isDone = ({ status }: DeliveryRecord) => status !== "pending" && status !== "paused";

function forgetEventsWithoutDelivery(world: World): void {
  const wanted = new Set<string>();
  for (const { eventId } of world.state.deliveries.values()) wanted.add(eventId);
  for (const id of world.state.events.keys()) if (!wanted.has(id)) world.state.events.delete(id);
}
