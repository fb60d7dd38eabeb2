import { MockServerError } from "../../errors.ts";
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
  DeliverySummary,
  deliveryRoutes,
  ExpectedDeliveries,
} from "../contract/deliveries.ts";
import type { ControlsOf } from "../contract/route.ts";
import { listPage } from "./list-page.ts";
import { waitFor } from "./wait-for.ts";

type DeliveryFilter = Omit<ExpectedDeliveries, "count" | "timeoutMs">;

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
        matches: (delivery) => matches(world, delivery, query),
        view: (delivery) => viewDeliverySummary(world, delivery),
      });
    },
    getDelivery: (deliveryId) => viewDelivery(worlds.current, find(deliveryId)),
    async replayDelivery(deliveryId) {
      const delivery = find(deliveryId);
      await replayDelivery(worlds.current, deliveryId);
      return viewDelivery(worlds.current, delivery);
    },
    async waitForDeliveries({ count, timeoutMs = 10_000, ...filter }, { signal } = {}) {
      const world = worlds.current;
      const find = () =>
        [...world.state.deliveries.values()].filter((delivery) => matches(world, delivery, filter));
      const findAll = () => {
        const matching = find();
        return matching.length >= count ? matching : undefined;
      };
      const matching = await waitFor(world, findAll, { timeoutMs, wallClock, signal });
      if (matching) return { data: matching.map((delivery) => viewDeliverySummary(world, delivery)) };
      throw new MockServerError(
        "WAIT_TIMED_OUT",
        `${find().length} of ${count} deliveries existed after ${timeoutMs} ms`,
      );
    },
  };
}

function matches(world: World, delivery: DeliveryRecord, filter: DeliveryFilter): boolean {
  return (
    (filter.endpointId === undefined || delivery.endpointId === filter.endpointId) &&
    (filter.event === undefined || delivery.eventName === filter.event) &&
    (filter.status === undefined || delivery.status === filter.status) &&
    (filter.attempted === undefined || delivery.attempts.length > 0 === filter.attempted) &&
    (filter.subject === undefined || world.state.events.get(delivery.eventId)?.subject === filter.subject)
  );
}

export function viewDeliverySummary(world: World, delivery: DeliveryRecord): DeliverySummary {
  return { ...deliveryFields(world, delivery), attemptCount: delivery.attempts.length };
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
