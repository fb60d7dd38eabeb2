import type { DeliveryFault } from "../../state/fault.ts";
import type { AttemptKind, AttemptRecord, DeliveryRecord, EventRecord } from "../../state/records.ts";
import { createTimerQueue, type TimerQueue, type TimerQueueEntry } from "../../time/timer-queue.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { makeAttempt } from "./attempt.ts";
import { createLane, type Lane } from "./keyed-queue.ts";
import { nextAttemptDelayMs } from "./retry-plan.ts";

// A journey is what is kept about a delivery that is not done yet, beside its record: its event, its entry
// on the agenda, its place in the lane. The record alone says where the delivery stands, so all of this
// can be rebuilt from the state, which is what a restore does.

type Engine = {
  readonly timers: TimerQueue<Departure>;
  /** By endpoint: its deliveries that are not done, and the order in which they may start. */
  readonly roads: Map<string, Road>;
  journeys: number;
};

type Road = {
  readonly lane: Lane<Journey>;
  readonly journeys: Map<string, Journey>;
  /** Put back by a `reorder` fault until another one has gone first. */
  readonly held: Set<Journey>;
};

export type Journey = {
  readonly delivery: DeliveryRecord;
  readonly event: EventRecord;
  /** Order of creation: retries that come due together go in this order. */
  readonly rank: number;
  departure: Departure | null;
  at: "rest" | "queue" | "attempt";
};

/**
 * Its entry on the agenda. One that has been called off lets go of its journey: it stays until its time,
 * and would otherwise keep a delivery and its event that have been given up.
 */
type Departure = TimerQueueEntry & { journey: Journey | null };

/** A delivery that a `reorder` fault put back goes after this long, though no other one has passed it. */
const heldMsMax = 5_000;

const engineOf = worldCache((world): Engine => {
  const timers = createTimerQueue<Departure>({
    schedule: world.schedule,
    monotonic: world.clock.monotonic,
    isLive: ({ journey }) => journey !== null,
    run({ journey }) {
      if (!journey) return;
      journey.departure = null;
      enqueue(world, journey);
    },
  });
  return { timers, roads: new Map(), journeys: 0 };
});

/** Puts a delivery on the road to its endpoint; nothing moves before `arm`. */
export function beginJourney(world: World, delivery: DeliveryRecord, event: EventRecord): Journey {
  const journey: Journey = { delivery, event, rank: engineOf(world).journeys++, departure: null, at: "rest" };
  roadTo(world, delivery.endpointId).journeys.set(delivery.id, journey);
  return journey;
}

/** The journeys to an endpoint that are under way. */
export const journeysOf = (world: World, endpointId: string) =>
  engineOf(world).roads.get(endpointId)?.journeys.values() ?? [];

/** Called when an endpoint is gone. */
export const closeRoad = (world: World, endpointId: string) => engineOf(world).roads.delete(endpointId);

function roadTo(world: World, endpointId: string): Road {
  const { roads } = engineOf(world);
  const known = roads.get(endpointId);
  if (known) return known;
  const road: Road = {
    journeys: new Map(),
    held: new Set(),
    lane: createLane({
      inFlightMax: world.settings.delivery.inFlightPerEndpointMax,
      mayStart(journey) {
        const may = journey.delivery.status === "pending" && !world.ended;
        if (!may) journey.at = "rest";
        return may;
      },
      start(journey) {
        const attempt = attemptJourney(world, road, journey);
        world.track(attempt);
        return attempt;
      },
    }),
  };
  roads.set(endpointId, road);
  return road;
}

export function dropJourney(world: World, delivery: DeliveryRecord): void {
  const journeys = engineOf(world).roads.get(delivery.endpointId)?.journeys;
  const journey = journeys?.get(delivery.id);
  if (!journey) return;
  disarm(journey);
  journeys?.delete(delivery.id);
}

export function arm(world: World, journey: Journey, delayMs: number): void {
  if (delayMs <= 0) {
    enqueue(world, journey);
    return;
  }
  journey.delivery.nextAttemptAtMs = world.clock.now() + delayMs;
  journey.departure = { dueMs: world.clock.monotonic() + delayMs, rank: journey.rank, journey };
  engineOf(world).timers.add(journey.departure);
}

export function disarm(journey: Journey): void {
  if (journey.departure) journey.departure.journey = null;
  journey.departure = null;
}

function enqueue(world: World, journey: Journey): void {
  // Resumed while it still waits in the lane, or while an attempt of it is under way: it goes on from there.
  if (journey.at !== "rest") return;
  journey.at = "queue";
  roadTo(world, journey.delivery.endpointId).lane.enqueue(journey.event.subject, journey);
}

async function attemptJourney(world: World, road: Road, journey: Journey): Promise<void> {
  const { delivery, event } = journey;
  const endpoint = world.state.endpoints.get(delivery.endpointId);
  if (!endpoint) return cancel(world, journey);
  road.held.delete(journey);
  const faults = delivery.drawnFaults ?? world.faults.drawDelivery(delivery);
  delete delivery.drawnFaults;
  if (putOff(world, road, journey, faults)) return;

  journey.at = "attempt";
  delivery.nextAttemptAtMs = null;
  const kinds: AttemptKind[] = ["scheduled", ...Array<AttemptKind>(copiesOf(faults)).fill("duplicate")];
  const made = await Promise.all(
    kinds.map((kind) => makeAttempt(world, { delivery, event, endpoint, faults, kind })),
  );
  if (world.ended) return;
  journey.at = "rest";
  const records = made.map((attempt) => recordAttempt(delivery, attempt));
  settle(world, journey, records);
  for (const record of records) announceAttempt(world, delivery, record);
  for (const held of road.held) release(world, road, held);
}

const copiesOf = (faults: readonly DeliveryFault[]) =>
  faults.reduce((sum, fault) => sum + (fault.kind === "duplicate" ? (fault.copies ?? 1) : 0), 0);

export function recordAttempt(delivery: DeliveryRecord, made: Omit<AttemptRecord, "number">): AttemptRecord {
  const record = { number: delivery.attempts.length + 1, ...made };
  // Not pushed: an array that grows takes room for seventeen at its first item.
  delivery.attempts = delivery.attempts.concat(record);
  return record;
}

/** Lets a `delay` or `reorder` fault put the attempt off; the other faults wait with it. */
function putOff(world: World, road: Road, journey: Journey, faults: readonly DeliveryFault[]): boolean {
  const index = faults.findIndex(({ kind }) => kind === "delay" || kind === "reorder");
  const fault = faults[index];
  if (fault?.kind !== "delay" && fault?.kind !== "reorder") return false;
  journey.at = "rest";
  journey.delivery.drawnFaults = faults.filter((_, other) => other !== index);
  if (fault.kind === "reorder") road.held.add(journey);
  arm(world, journey, fault.kind === "delay" ? fault.delayMs : heldMsMax);
  return true;
}

function release(world: World, road: Road, journey: Journey): void {
  road.held.delete(journey);
  if (journey.at !== "rest" || journey.departure === null) return;
  disarm(journey);
  enqueue(world, journey);
}

/** Decides what follows from the answers: done, or the next attempt, or the end of the schedule. */
function settle(world: World, journey: Journey, records: readonly AttemptRecord[]): void {
  const { delivery } = journey;
  if (records.some(({ error }) => error === null)) {
    finish(world, delivery, "succeeded");
  } else if (delivery.status === "pending" || delivery.status === "paused") {
    const delayMs = retryDelayMs(world, delivery, records[0]);
    if (delayMs === null) finish(world, delivery, "failed");
    else if (delivery.status === "pending") arm(world, journey, delayMs);
    else delivery.nextAttemptAtMs = world.clock.now() + delayMs;
  }
}

const retryDelayMs = (world: World, delivery: DeliveryRecord, last: AttemptRecord | undefined) =>
  nextAttemptDelayMs({
    scheduleMs: world.settings.delivery.scheduleMs,
    attempts: delivery.attempts.filter(({ kind }) => kind === "scheduled").length,
    status: last?.status ?? null,
    retryAfter: last?.responseHeaders["retry-after"],
    nowMs: world.clock.now(),
  });

export function finish(world: World, delivery: DeliveryRecord, status: "succeeded" | "failed"): void {
  delivery.status = status;
  delivery.nextAttemptAtMs = null;
  dropJourney(world, delivery);
}

export function cancel(world: World, journey: Journey): void {
  journey.delivery.status = "cancelled";
  journey.delivery.nextAttemptAtMs = null;
  disarm(journey);
  world.emit({ type: "delivery.cancelled", ...describe(journey.delivery) });
}

export const describe = (delivery: DeliveryRecord) => ({
  deliveryId: delivery.id,
  endpointId: delivery.endpointId,
  workspaceId: delivery.workspaceId,
  event: delivery.eventName,
  status: delivery.status,
  nextAttemptAt: delivery.nextAttemptAtMs === null ? null : new Date(delivery.nextAttemptAtMs).toISOString(),
});

export function announceAttempt(world: World, delivery: DeliveryRecord, attempt: AttemptRecord): void {
  if (!world.hasSubscribers) return;
  world.emit({
    type: "delivery.attempted",
    ...describe(delivery),
    attempt: {
      number: attempt.number,
      kind: attempt.kind,
      status: attempt.status,
      error: attempt.error,
      durationMs: attempt.durationMs,
      faults: attempt.faults,
    },
  });
}
