// A delivery is one event for one endpoint. It is `pending` until an attempt gets a 2xx response (`succeeded`), the
// schedule is used up (`failed`) or its endpoint is deleted (`cancelled`); while the endpoint is disabled it is
// `paused`, and resumes at the same place in the schedule (D4).

import type { AttemptRecord, EventRecord, WebhookEndpointRecord } from "../state/records.ts";
import type { World } from "../world/world.ts";
import {
  createDelivery,
  emitAttempt,
  emitDelivery,
  isUnfinished,
  makeAttempt,
  recordAttempt,
} from "./delivery-attempt.ts";
import { countAttempt, countDelivery } from "./delivery-retention.ts";
import {
  addPending,
  finish,
  keepWithinBounds,
  pendingOf,
  schedule,
  unschedule,
  whenAttempted,
} from "./delivery-scheduler.ts";
import { conflict, notFound } from "./service-error.ts";

/**
 * Delivers an event to every enabled endpoint of its workspace that subscribes to its name (E6, E7). The event is
 * created for the first of them.
 * @returns whether there was one
 */
export function deliverEvent(world: World, target: DeliveryTarget, createEvent: () => EventRecord): boolean {
  let event: EventRecord | undefined;
  for (const endpoint of world.state.endpoints.values()) {
    if (!receives(endpoint, target)) continue;
    if (!event) {
      event = createEvent();
      world.state.events.set(event.id, event);
    }
    const delivery = createDelivery(world, event, endpoint);
    countDelivery(world, delivery, event);
    schedule(world, addPending(world, delivery, event), world.settings.delivery.scheduleMs[0] ?? 0);
  }
  if (event) keepWithinBounds(world);
  return event !== undefined;
}

interface DeliveryTarget extends Pick<EventRecord, "workspaceId" | "name"> {
  /** This endpoint alone, whatever its subscription. */
  readonly endpointId?: string | undefined;
}

const receives = (
  endpoint: WebhookEndpointRecord,
  { workspaceId, name, endpointId }: DeliveryTarget,
): boolean => {
  if (endpoint.workspaceId !== workspaceId || !endpoint.enabled) return false;
  if (endpointId !== undefined) return endpoint.id === endpointId;
  return endpoint.eventTypes === null || endpoint.eventTypes.includes(name);
};

/** Called when an endpoint is disabled. */
export function pauseDeliveries(world: World, endpointId: string): void {
  for (const pending of pendingOf(world, endpointId)) {
    const { delivery } = pending;
    if (delivery.status !== "pending") continue;
    delivery.status = "paused";
    unschedule(pending);
    emitDelivery(world, "delivery.paused", delivery);
  }
}

/** Called when an endpoint is enabled again: deliveries whose time has passed are attempted at once. */
export function resumeDeliveries(world: World, endpointId: string): void {
  for (const pending of pendingOf(world, endpointId)) {
    const { delivery } = pending;
    if (delivery.status !== "paused") continue;
    delivery.status = "pending";
    emitDelivery(world, "delivery.resumed", delivery);
    // A queued one has its turn soon, and its time may lie ahead, when it was deferred: it would be attempted twice.
    if (pending.state === "idle") schedule(world, pending, untilMs(world, delivery.nextAttemptAtMs));
  }
}

/**
 * Sends a delivery once more, with its id and a new signature, whatever its status. The attempt does not count
 * towards the schedule: when it is acknowledged the delivery has succeeded, otherwise nothing changes.
 * @throws ServiceError `NOT_FOUND` for an unknown id, `CONFLICT` when the endpoint is deleted or disabled
 */
export function replayDelivery(world: World, deliveryId: string): Promise<AttemptRecord> {
  const delivery = world.state.deliveries.get(deliveryId);
  const event = delivery && world.state.events.get(delivery.eventId);
  if (!delivery || !event) throw notFound(`delivery "${deliveryId}" not found`);
  const endpoint = world.state.endpoints.get(delivery.endpointId);
  if (!endpoint?.enabled) throw conflict(`the delivery's endpoint is ${endpoint ? "disabled" : "deleted"}`);
  const result = makeAttempt(world, { delivery, event, endpoint, kind: "replay", faults: [] });
  const replayed = new Promise<AttemptRecord>((resolve) => {
    const apply = result.then((settled) => () => {
      countAttempt(world, settled, event.body);
      const attempt = recordAttempt(delivery, settled);
      if (!world.ended) {
        if (attempt.error === null) finish(world, delivery, "succeeded");
        emitAttempt(world, delivery, attempt);
      }
      resolve(attempt);
    });
    whenAttempted(world, apply);
  });
  world.track(replayed);
  return replayed;
}

/** Schedules the deliveries of a restored state. An attempt that was in flight is made again. */
export function rescheduleDeliveries(world: World): void {
  for (const delivery of world.state.deliveries.values()) {
    const event = world.state.events.get(delivery.eventId);
    if (!event || !isUnfinished(delivery)) continue;
    const pending = addPending(world, delivery, event);
    if (delivery.status === "pending") schedule(world, pending, untilMs(world, delivery.nextAttemptAtMs));
  }
}

const untilMs = (world: World, atMs: number | null) => Math.max(0, (atMs ?? 0) - world.clock.now());
