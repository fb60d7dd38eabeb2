import type {
  AttemptRecord,
  DeliveryRecord,
  EventRecord,
  WebhookEndpointRecord,
} from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { ServiceError } from "../service-error.ts";
import { makeAttempt } from "./attempt.ts";
import {
  announceAttempt,
  arm,
  beginJourney,
  cancel,
  closeRoad,
  describe,
  disarm,
  dropJourney,
  finish,
  journeysOf,
  recordAttempt,
} from "./journey.ts";
import { forgetOldDeliveries } from "./retention.ts";

// A delivery is one event on its way to one endpoint. It is `pending` until an attempt is answered with
// 2xx (`succeeded`), the schedule is used up (`failed`) or its endpoint is deleted (`cancelled`); while
// the endpoint is disabled it is `paused`, keeps its place in the schedule and goes on from there (D4).

/** Whether any endpoint would receive an event of this name now. */
export function wantsEvent(world: World, workspaceId: string, name: string): boolean {
  for (const endpoint of world.state.endpoints.values()) {
    if (receives(endpoint, workspaceId, name)) return true;
  }
  return false;
}

/** Sends the event to each enabled endpoint of its workspace that subscribes to it (E6, E7). */
export function deliverEvent(world: World, event: EventRecord): void {
  for (const endpoint of world.state.endpoints.values()) {
    if (!receives(endpoint, event.workspaceId, event.name)) continue;
    world.state.events.set(event.id, event);
    const delivery: DeliveryRecord = {
      id: world.newId("delivery"),
      eventId: event.id,
      eventName: event.name,
      workspaceId: event.workspaceId,
      endpointId: endpoint.id,
      status: "pending",
      createdAtMs: world.clock.now(),
      nextAttemptAtMs: null,
      attempts: [],
    };
    world.state.deliveries.set(delivery.id, delivery);
    if (world.hasSubscribers) world.emit({ type: "delivery.created", ...describe(delivery) });
    arm(world, beginJourney(world, delivery, event), world.settings.delivery.scheduleMs[0] ?? 0);
  }
  for (const old of forgetOldDeliveries(world)) dropJourney(world, old);
}

/** Called when an endpoint is disabled: what is pending waits. */
export function pauseDeliveries(world: World, endpointId: string): void {
  for (const journey of journeysOf(world, endpointId)) {
    if (journey.delivery.status !== "pending") continue;
    journey.delivery.status = "paused";
    disarm(journey);
    world.emit({ type: "delivery.paused", ...describe(journey.delivery) });
  }
}

/** Called when an endpoint is enabled again: what waited goes on, at once where its time has passed. */
export function resumeDeliveries(world: World, endpointId: string): void {
  for (const journey of journeysOf(world, endpointId)) {
    const { delivery } = journey;
    if (delivery.status !== "paused") continue;
    delivery.status = "pending";
    world.emit({ type: "delivery.resumed", ...describe(delivery) });
    arm(world, journey, untilMs(world, delivery.nextAttemptAtMs));
  }
}

/** Called when an endpoint is deleted: nothing is attempted any more, retries included (W10). */
export function cancelDeliveries(world: World, endpointId: string): void {
  for (const journey of journeysOf(world, endpointId)) cancel(world, journey);
  closeRoad(world, endpointId);
}

/**
 * Sends a delivery once more, with its id and a fresh signature, whatever its status. The attempt stands
 * outside the schedule: when it is acknowledged the delivery has succeeded, otherwise nothing changes.
 * @throws ServiceError `NOT_FOUND` for an unknown id, `CONFLICT` when the endpoint is gone or disabled
 */
export function replayDelivery(world: World, deliveryId: string): Promise<AttemptRecord> {
  const delivery = world.state.deliveries.get(deliveryId);
  const event = delivery && world.state.events.get(delivery.eventId);
  if (!delivery || !event) throw new ServiceError("NOT_FOUND", `delivery "${deliveryId}" not found`);
  const endpoint = world.state.endpoints.get(delivery.endpointId);
  if (!endpoint?.enabled) {
    throw new ServiceError("CONFLICT", `the delivery's endpoint is ${endpoint ? "disabled" : "deleted"}`);
  }
  const attempt = makeAttempt(world, { delivery, event, endpoint, kind: "replay", faults: [] });
  const done = attempt.then((made) => {
    const record = recordAttempt(delivery, made);
    if (world.ended) return record;
    if (record.error === null) finish(world, delivery, "succeeded");
    announceAttempt(world, delivery, record);
    return record;
  });
  world.track(done);
  return done;
}

/** Sets the deliveries of a restored state going again. An attempt that was under way is made anew. */
export function rescheduleDeliveries(world: World): void {
  for (const delivery of world.state.deliveries.values()) {
    const event = world.state.events.get(delivery.eventId);
    if (!event || (delivery.status !== "pending" && delivery.status !== "paused")) continue;
    const journey = beginJourney(world, delivery, event);
    if (delivery.status === "pending") arm(world, journey, untilMs(world, delivery.nextAttemptAtMs));
  }
}

function receives(endpoint: WebhookEndpointRecord, workspaceId: string, name: string): boolean {
  return (
    endpoint.workspaceId === workspaceId &&
    endpoint.enabled &&
    (endpoint.eventTypes === null || endpoint.eventTypes.includes(name))
  );
}

const untilMs = (world: World, atMs: number | null) => Math.max(0, (atMs ?? 0) - world.clock.now());
