import type { z } from "zod";
import { replayDelivery } from "../rules/deliveries/deliveries.ts";
import { ServiceError } from "../rules/service-error.ts";
import type { DeliveryRecord } from "../state/records.ts";
import type { Clock } from "../time/clock.ts";
import type { World } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import { ControlError } from "./control-error.ts";
import type { deliveriesQuery, waitBody } from "./delivery-routes.ts";
import { type DeliverySummary, type DeliveryView, viewDelivery, viewDeliverySummary } from "./views.ts";
import { waitFor } from "./waiting.ts";

export type DeliveriesQuery = Partial<Readonly<z.output<typeof deliveriesQuery>>>;
type DeliveryFilter = Omit<DeliveriesQuery, "limit" | "iterator"> & {
  readonly attempted?: boolean | undefined;
};
export type WaitInput = Readonly<z.input<typeof waitBody>>;
export type DeliveryPage = {
  readonly data: DeliverySummary[];
  readonly done: boolean;
  readonly iterator: string | null;
};

/** What has been sent to receivers. */
export interface DeliveryControls {
  /** A page of deliveries, oldest first; 100 unless `limit` says otherwise. */
  deliveries(query?: DeliveriesQuery): DeliveryPage;
  /** One delivery with every attempt. @throws ServiceError NOT_FOUND */
  delivery(deliveryId: string): DeliveryView;
  /** Sends it again: same id, fresh timestamp and signature. Resolves after the attempt. */
  replay(deliveryId: string): Promise<DeliveryView>;
  /**
   * Resolves once so many matching deliveries exist.
   * @throws ControlError WAIT_TIMED_OUT after `timeoutMs` (10000 unless said otherwise) of real time
   */
  wait(input: WaitInput, signal?: AbortSignal): Promise<DeliverySummary[]>;
}

export function createDeliveryControls(worlds: WorldHolder, wallClock: Clock): DeliveryControls {
  const find = (deliveryId: string): DeliveryRecord => {
    const delivery = worlds.current.state.deliveries.get(deliveryId);
    if (!delivery) throw new ServiceError("NOT_FOUND", `delivery "${deliveryId}" not found`);
    return delivery;
  };

  const matching = (filter: DeliveryFilter): DeliveryRecord[] => {
    const world = worlds.current;
    const found: DeliveryRecord[] = [];
    for (const delivery of world.state.deliveries.values()) {
      if (matches(world, delivery, filter)) found.push(delivery);
    }
    return found;
  };

  const summarise = (delivery: DeliveryRecord) => viewDeliverySummary(worlds.current, delivery);

  return {
    deliveries(query = {}) {
      const { limit = 100, iterator = "" } = query;
      // Ids are in order of creation, so the last one given out says where to go on.
      const rest = matching(query).filter(({ id }) => id > iterator);
      const data = rest.slice(0, limit).map(summarise);
      const done = rest.length <= limit;
      return { data, done, iterator: done ? null : (data.at(-1)?.id ?? null) };
    },
    delivery: (deliveryId) => viewDelivery(worlds.current, find(deliveryId)),
    async replay(deliveryId) {
      const delivery = find(deliveryId);
      await replayDelivery(worlds.current, deliveryId);
      return viewDelivery(worlds.current, delivery);
    },
    async wait({ deliveries: { count, ...filter }, timeoutMs = 10_000 }, signal) {
      const look = () => {
        const found = matching(filter);
        return found.length >= count ? found : undefined;
      };
      const found = await waitFor(worlds.current, look, { timeoutMs, wallClock, signal });
      if (found) return found.map(summarise);
      const there = matching(filter).length;
      throw new ControlError(
        "WAIT_TIMED_OUT",
        `${there} of ${count} deliveries were there after ${timeoutMs} ms`,
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
