// What a delivery's record says. When a delivery is attempted is decided by `delivery-scheduler.ts`.

import type {
  AttemptRecord,
  DeliveryRecord,
  EventRecord,
  WebhookEndpointRecord,
} from "../../state/records.ts";
import { isoTimeOrNull } from "../../time/iso-time.ts";
import type { World } from "../../world/world.ts";
import type { AttemptResult } from "./attempt.ts";

export function createDelivery(
  world: World,
  event: EventRecord,
  endpoint: WebhookEndpointRecord,
): DeliveryRecord {
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
  emitDelivery(world, "delivery.created", delivery);
  return delivery;
}

export function recordAttempt(delivery: DeliveryRecord, result: AttemptResult): AttemptRecord {
  const attempt = { number: delivery.attempts.length + 1, ...result };
  // `push` allocates 17 slots at once, `concat` one. It counts at 100,000 deliveries.
  delivery.attempts = delivery.attempts.concat(attempt);
  return attempt;
}

export function countScheduled({ attempts }: DeliveryRecord): number {
  let count = 0;
  for (const { kind } of attempts) if (kind === "scheduled") count++;
  return count;
}

export const isUnfinished = ({ status }: DeliveryRecord) => status === "pending" || status === "paused";

export function emitDelivery(
  world: World,
  type: `delivery.${string}`,
  delivery: DeliveryRecord,
  details: object = {},
): void {
  if (!world.hasSubscribers) return;
  world.emit({
    type,
    deliveryId: delivery.id,
    eventId: delivery.eventId,
    endpointId: delivery.endpointId,
    workspaceId: delivery.workspaceId,
    event: delivery.eventName,
    status: delivery.status,
    nextAttemptAt: isoTimeOrNull(delivery.nextAttemptAtMs),
    ...details,
  });
}

export function emitAttempt(world: World, delivery: DeliveryRecord, attempt: AttemptRecord): void {
  if (!world.hasSubscribers) return;
  const { number, kind, status, error, durationMs, faults } = attempt;
  emitDelivery(world, "delivery.attempted", delivery, {
    url: world.state.endpoints.get(delivery.endpointId)?.url ?? null,
    tries: delivery.attempts.slice(0, number).filter((each) => each.kind === "scheduled").length,
    triesMax: world.settings.delivery.scheduleMs.length,
    attempt: { number, kind, status, error, durationMs, faults },
  });
}
