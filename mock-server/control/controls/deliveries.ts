import { replayDelivery } from "../../rules/deliveries/deliveries.ts";
import { found } from "../../rules/service-error.ts";
import type { AttemptRecord, DeliveryRecord } from "../../state/records.ts";
import type { Clock } from "../../time/clock.ts";
import { isoTime, isoTimeOrNull } from "../../time/iso-time.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryFilter,
  DeliverySummary,
  deliveryRoutes,
} from "../contract/deliveries.ts";
import type { ControlsOf } from "../contract/route.ts";
import { listPage } from "./list-page.ts";
import { difference, waitForMatches } from "./wait-for-matches.ts";

export type DeliveryControls = ControlsOf<typeof deliveryRoutes>;

/** @param wallClock measures the time limits of waits */
export function createDeliveryControls(worlds: WorldHolder, wallClock: Clock): DeliveryControls {
  const find = (deliveryId: string): DeliveryRecord =>
    found(worlds.current.state.deliveries.get(deliveryId), `delivery "${deliveryId}" not found`);
  return {
    listDeliveries(query = {}) {
      const world = worlds.current;
      return listPage(world.state.deliveries.values(), query, {
        positionOf: ({ id }) => id,
        matches: (delivery) => differences(world, delivery, query).length === 0,
        view: (delivery) => viewDeliverySummary(world, delivery),
      });
    },
    getDelivery: (deliveryId) => viewDelivery(worlds.current, find(deliveryId)),
    async replayDelivery(deliveryId) {
      const delivery = find(deliveryId);
      await replayDelivery(worlds.current, deliveryId);
      return viewDelivery(worlds.current, delivery);
    },
    async waitForDeliveries({ count, times, timeoutMs = 10_000, ...filter } = {}, { signal } = {}) {
      const world = worlds.current;
      const expectation = {
        noun: "delivery",
        items: () => world.state.deliveries.values(),
        differences: (delivery: DeliveryRecord) => differences(world, delivery, filter),
        describe: describeDelivery,
      };
      const limits = { timeoutMs, wallClock, signal };
      const matching = await waitForMatches(world, expectation, { count, times }, limits);
      return { data: matching.map((delivery) => viewDeliverySummary(world, delivery)) };
    },
  };
}

function differences(world: World, delivery: DeliveryRecord, filter: DeliveryFilter): readonly string[] {
  const { attempts } = delivery;
  const subject = world.state.events.get(delivery.eventId)?.subject;
  return [
    ...difference("event", filter.event, delivery.eventName),
    ...difference("status", filter.status, delivery.status),
    ...difference("endpointId", filter.endpointId, delivery.endpointId),
    ...difference("workspaceId", filter.workspaceId, delivery.workspaceId),
    ...difference("subject", filter.subject, subject),
    ...difference("attempted", filter.attempted, attempts.length > 0),
    ...difference("responseStatus", filter.responseStatus, attempts.at(-1)?.status ?? null),
  ];
}

function describeDelivery({ id, eventName, status, attempts }: DeliveryRecord): string {
  const error = attempts.at(-1)?.error;
  return `${eventName} ${id} (${status}${error == null ? "" : `, ${error}`})`;
}

export function viewDeliverySummary(world: World, delivery: DeliveryRecord): DeliverySummary {
  const last = delivery.attempts.at(-1);
  return {
    ...deliveryFields(world, delivery),
    attemptCount: delivery.attempts.length,
    lastStatus: last?.status ?? null,
    lastError: last?.error ?? null,
  };
}

function viewDelivery(world: World, delivery: DeliveryRecord): DeliveryDetail {
  return { ...deliveryFields(world, delivery), attempts: delivery.attempts.map(viewAttempt) };
}

const deliveryFields = (world: World, delivery: DeliveryRecord) => ({
  id: delivery.id,
  event: delivery.eventName,
  eventId: delivery.eventId,
  workspaceId: delivery.workspaceId,
  endpointId: delivery.endpointId,
  status: delivery.status,
  subject: world.state.events.get(delivery.eventId)?.subject ?? "",
  createdAt: isoTime(delivery.createdAtMs),
  nextAttemptAt: isoTimeOrNull(delivery.nextAttemptAtMs),
});

const viewAttempt = ({ startedAtMs, ...attempt }: AttemptRecord): DeliveryAttempt => ({
  ...attempt,
  startedAt: isoTime(startedAtMs),
});
