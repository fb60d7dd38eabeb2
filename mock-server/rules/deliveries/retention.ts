import { deliveryBytesMax } from "../../settings/bounds.ts";
import type { AttemptRecord, DeliveryRecord, EventRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { emitDelivery, isUnfinished } from "./delivery-record.ts";

/** Memory of a delivery, or of an attempt, without its bodies: an estimate. */
const recordBytes = 1_000;

/** Estimated memory of all deliveries, and how many each event has. */
const usage = worldCache((world) => {
  const deliveriesOf = new Map<string, number>();
  let bytes = 0;
  for (const delivery of world.state.deliveries.values()) {
    bytes += bytesOf(world, delivery);
    deliveriesOf.set(delivery.eventId, (deliveriesOf.get(delivery.eventId) ?? 0) + 1);
  }
  return { bytes, deliveriesOf };
});

function bytesOf(world: World, delivery: DeliveryRecord): number {
  const body = world.state.events.get(delivery.eventId)?.body ?? "";
  return delivery.attempts.reduce(
    (bytes, attempt) => bytes + bytesOfAttempt(attempt, body),
    recordBytes + body.length,
  );
}

/** The body of a request is the event's, unless a fault has altered it. */
const bytesOfAttempt = ({ requestBody, responseBody }: Bodies, body: string) =>
  recordBytes + responseBody.length + (requestBody === body ? 0 : requestBody.length);

type Bodies = Pick<AttemptRecord, "requestBody" | "responseBody">;

/** Counts a delivery before it is created. */
export function countDelivery(world: World, { id, body }: EventRecord): void {
  const used = usage(world);
  used.bytes += recordBytes + body.length;
  used.deliveriesOf.set(id, (used.deliveriesOf.get(id) ?? 0) + 1);
}

/** Counts an attempt before it is recorded. */
export function countAttempt(world: World, attempt: Bodies, body: string): void {
  usage(world).bytes += bytesOfAttempt(attempt, body);
}

/**
 * Keeps the deliveries within `settings.bounds.deliveriesMax` and `deliveryBytesMax`. The oldest finished ones are
 * discarded first; only without any left is an unfinished one discarded, with an activity that says so. One percent is
 * discarded at a time, so that all deliveries are rarely walked.
 * @returns the unfinished ones that were discarded
 */
export function discardOldDeliveries(world: World): readonly DeliveryRecord[] {
  const { deliveries } = world.state;
  const { deliveriesMax } = world.settings.bounds;
  const used = usage(world);
  const isWithin = (share: number) =>
    deliveries.size <= Math.max(0, deliveriesMax - Math.floor(deliveriesMax * share)) &&
    (used.bytes <= deliveryBytesMax * (1 - share) || deliveries.size <= 1);
  if (isWithin(0)) return [];

  const discarded: DeliveryRecord[] = [];
  const discard = (delivery: DeliveryRecord) => {
    used.bytes -= bytesOf(world, delivery);
    deliveries.delete(delivery.id);
    discardEventAfterLast(world, used, delivery);
  };
  for (const delivery of deliveries.values()) {
    if (isWithin(0.01)) break;
    if (!isUnfinished(delivery)) discard(delivery);
  }
  for (const delivery of deliveries.values()) {
    if (isWithin(0)) break;
    discard(delivery);
    delivery.status = "cancelled";
    discarded.push(delivery);
    const reason = `the limit is ${deliveriesMax} deliveries, and ${deliveryBytesMax} bytes`;
    emitDelivery(world, "delivery.discarded", delivery, { reason });
  }
  return discarded;
}

function discardEventAfterLast(
  world: World,
  { deliveriesOf }: ReturnType<typeof usage>,
  { eventId }: DeliveryRecord,
): void {
  const left = (deliveriesOf.get(eventId) ?? 0) - 1;
  if (left > 0) {
    deliveriesOf.set(eventId, left);
  } else {
    deliveriesOf.delete(eventId);
    world.state.events.delete(eventId);
  }
}
