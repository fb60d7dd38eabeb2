// How many deliveries the mock keeps, and how they are found by event, endpoint and subject.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { deliveryBytesMax } from "../settings/settings.ts";
import type { AttemptRecord, DeliveryRecord, EventRecord } from "../state/records.ts";
import { type World, worldCache } from "../world/world.ts";
import { emitDelivery, isUnfinished } from "./delivery-attempt.ts";

/** Memory of a delivery, or of an attempt, without its bodies: an estimate. */
const recordBytes = 1_000;

/** Estimated memory of all deliveries, those of each event and of each endpoint, and the events of each subject, in order of creation. */
const usage = worldCache((world) => {
  const used = {
    bytes: 0,
    byEvent: new Map<string, Set<DeliveryRecord>>(),
    byEndpoint: new Map<string, Set<DeliveryRecord>>(),
    bySubject: new Map<string, Set<EventRecord>>(),
  };
  for (const delivery of world.state.deliveries.values()) {
    used.bytes += bytesOf(world, delivery);
    addTo(used.byEndpoint, delivery.endpointId, delivery);
    addTo(used.byEvent, delivery.eventId, delivery);
  }
  for (const event of world.state.events.values()) addTo(used.bySubject, event.subject, event);
  return used;
});

function addTo<Item>(groups: Map<string, Set<Item>>, key: string, item: Item): void {
  getOrCreate(groups, key, () => new Set()).add(item);
}

function removeFrom<Item>(groups: Map<string, Set<Item>>, key: string, item: Item): void {
  const group = groups.get(key);
  group?.delete(item);
  if (group?.size === 0) groups.delete(key);
}

export const deliveriesOfEvent = (world: World, eventId: string): readonly DeliveryRecord[] => [
  ...(usage(world).byEvent.get(eventId) ?? []),
];

/** What has happened to a task, for example. */
export const eventsOfSubject = (world: World, subject: string): readonly EventRecord[] => [
  ...(usage(world).bySubject.get(subject) ?? []),
];

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
export function countDelivery(world: World, delivery: DeliveryRecord, event: EventRecord): void {
  const used = usage(world);
  // The first one has counted itself.
  if (used.byEndpoint.get(delivery.endpointId)?.has(delivery)) return;
  addTo(used.byEndpoint, delivery.endpointId, delivery);
  addTo(used.byEvent, event.id, delivery);
  addTo(used.bySubject, event.subject, event);
  used.bytes += recordBytes + event.body.length;
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
    removeFrom(used.byEndpoint, delivery.endpointId, delivery);
    removeFrom(used.byEvent, delivery.eventId, delivery);
    deliveries.delete(delivery.id);
    if (!used.byEvent.has(delivery.eventId)) discardEvent(world, delivery.eventId);
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
  for (const deliveries of byEndpoint.values()) {
    if (deliveries.size > (largest?.size ?? 0)) largest = deliveries;
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

function discardEvent(world: World, eventId: string): void {
  const event = world.state.events.get(eventId);
  if (!event) return;
  removeFrom(usage(world).bySubject, event.subject, event);
  world.state.events.delete(eventId);
}
