import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { deliveryBytesMax } from "../../settings/bounds.ts";
import type { AttemptRecord, DeliveryRecord, EventRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { emitDelivery, isUnfinished } from "./delivery-record.ts";

/** Memory of a delivery, or of an attempt, without its bodies: an estimate. */
const recordBytes = 1_000;

/** Estimated memory of all deliveries, how many each event has, and those of each endpoint in order of creation. */
const usage = worldCache((world) => {
  const deliveriesOf = new Map<string, number>();
  const byEndpoint = new Map<string, Set<DeliveryRecord>>();
  let bytes = 0;
  for (const delivery of world.state.deliveries.values()) {
    bytes += bytesOf(world, delivery);
    deliveriesOf.set(delivery.eventId, (deliveriesOf.get(delivery.eventId) ?? 0) + 1);
    getOrCreate(byEndpoint, delivery.endpointId, () => new Set()).add(delivery);
  }
  return { bytes, deliveriesOf, byEndpoint };
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

/** Counts a delivery that has just been created. */
export function countDelivery(world: World, delivery: DeliveryRecord, { id, body }: EventRecord): void {
  const used = usage(world);
  const endpoint = getOrCreate(used.byEndpoint, delivery.endpointId, () => new Set());
  // The first one has counted itself.
  if (endpoint.has(delivery)) return;
  endpoint.add(delivery);
  used.bytes += recordBytes + body.length;
  used.deliveriesOf.set(id, (used.deliveriesOf.get(id) ?? 0) + 1);
}

/** Counts an attempt before it is recorded. */
export function countAttempt(world: World, attempt: Bodies, body: string): void {
  usage(world).bytes += bytesOfAttempt(attempt, body);
}

/** How many of an endpoint's oldest deliveries are searched for a finished one. */
const searchedMax = 100;

/**
 * Keeps the deliveries within `settings.bounds.deliveriesMax` and `deliveryBytesMax`. The endpoint with the most gives
 * way, so that one that is down costs the others no history: its oldest finished delivery is discarded, or, without one
 * among its oldest, an unfinished one, with an activity that says so.
 * @returns the unfinished ones that were discarded
 */
export function discardOldDeliveries(world: World): readonly DeliveryRecord[] {
  const { deliveries } = world.state;
  const { deliveriesMax } = world.settings.bounds;
  const used = usage(world);
  const discarded: DeliveryRecord[] = [];
  while (deliveries.size > deliveriesMax || (used.bytes > deliveryBytesMax && deliveries.size > 1)) {
    const delivery = nextToDiscard(used.byEndpoint);
    if (!delivery) break;
    used.bytes -= bytesOf(world, delivery);
    used.byEndpoint.get(delivery.endpointId)?.delete(delivery);
    deliveries.delete(delivery.id);
    discardEventAfterLast(world, used, delivery);
    if (!isUnfinished(delivery)) continue;
    delivery.status = "cancelled";
    discarded.push(delivery);
    const reason = `the limit is ${deliveriesMax} deliveries, and ${deliveryBytesMax} bytes`;
    emitDelivery(world, "delivery.discarded", delivery, { reason });
  }
  return discarded;
}

function nextToDiscard(byEndpoint: Map<string, Set<DeliveryRecord>>): DeliveryRecord | undefined {
  let largest: Set<DeliveryRecord> | undefined;
  for (const [endpointId, deliveries] of byEndpoint) {
    if (deliveries.size === 0) byEndpoint.delete(endpointId);
    else if (deliveries.size > (largest?.size ?? 0)) largest = deliveries;
  }
  let oldest: DeliveryRecord | undefined;
  let searched = 0;
  for (const delivery of largest ?? []) {
    if (!isUnfinished(delivery)) return delivery;
    oldest ??= delivery;
    if (++searched === searchedMax) break;
  }
  return oldest;
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
