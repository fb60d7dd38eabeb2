import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { DeliveryFault } from "../state/fault.ts";
import type { AttemptKind, AttemptRecord, DeliveryRecord, EventRecord } from "../state/records.ts";
import { createTimerQueue, type TimerQueue, type TimerQueueEntry } from "../time/timer-queue.ts";
import { type World, worldCache } from "../world/world.ts";
import {
  countScheduled,
  emitAttempt,
  emitDelivery,
  isUnfinished,
  makeAttempt,
  recordAttempt,
} from "./delivery-attempt.ts";
import { countAttempt, discardOldDeliveries } from "./delivery-retention.ts";
import {
  asTheyArrive,
  createKeyedQueue,
  inStartOrder,
  type KeyedQueue,
  type WhenDone,
} from "./keyed-queue.ts";
import { nextAttemptDelayMs } from "./retry-plan.ts";

/*
 * When deliveries are attempted. Each unfinished delivery has a `PendingDelivery` in memory, beside its record:
 *
 *     idle ──due──► queued ──turn──► sending ──► removed: succeeded, failed
 *      ▲              │                 │
 *      │              └──► idle: the endpoint is disabled
 *      └── deferred by a fault, or failed with attempts left: scheduled again
 *
 * `idle` has a scheduled attempt, or none while the endpoint is disabled. `queued` waits in the endpoint's keyed
 * queue, behind the event before it about the same subject. `sending` has an attempt in flight. A delivery that is
 * cancelled, or discarded, is removed in any state. All of this follows from the records: a restore rebuilds it.
 */

interface Scheduler {
  readonly timers: TimerQueue<ScheduledAttempt>;
  readonly endpoints: Map<string, EndpointQueue>;
  /** Virtual time waits for all attempts of an instant anyway: their results are applied in the order of their start. */
  readonly whenDone: WhenDone<() => void>;
  nextRank: number;
}

/** The unfinished deliveries of one endpoint, and the order in which their attempts start. */
interface EndpointQueue {
  readonly queue: KeyedQueue<PendingDelivery>;
  readonly pending: Map<string, PendingDelivery>;
  /** Deferred by a `reorder` fault until another attempt has been sent. */
  readonly deferred: Set<PendingDelivery>;
}

interface PendingDelivery {
  readonly delivery: DeliveryRecord;
  readonly event: EventRecord;
  /** Order of creation: retries that come due together run in this order. */
  readonly rank: number;
  scheduled: ScheduledAttempt | null;
  state: "idle" | "queued" | "sending";
  /** Start of its latest attempt. */
  sentAtMs: number;
}

/** A cancelled entry stays in the timer queue until due; clearing `pending` lets the delivery be collected. */
interface ScheduledAttempt extends TimerQueueEntry {
  pending: PendingDelivery | null;
}

const schedulerOf = worldCache((world): Scheduler => {
  const timers = createTimerQueue<ScheduledAttempt>({
    schedule: world.schedule,
    monotonic: world.clock.monotonic,
    isLive: ({ pending }) => pending !== null,
    run({ pending }) {
      if (!pending) return;
      pending.scheduled = null;
      enqueue(world, pending);
    },
  });
  const whenDone = "advance" in world.clock ? inStartOrder<() => void>() : asTheyArrive;
  return { timers, endpoints: new Map(), whenDone, nextRank: 0 };
});

/** Adds an unfinished delivery; it stays idle until it is scheduled. */
export function addPending(world: World, delivery: DeliveryRecord, event: EventRecord): PendingDelivery {
  const rank = schedulerOf(world).nextRank++;
  const pending: PendingDelivery = { delivery, event, rank, scheduled: null, state: "idle", sentAtMs: 0 };
  const endpoint = endpointQueue(world, delivery.endpointId);
  endpoint.pending.set(delivery.id, pending);
  if (delivery.reordered) endpoint.deferred.add(pending);
  return pending;
}

export const pendingOf = (world: World, endpointId: string): Iterable<PendingDelivery> =>
  schedulerOf(world).endpoints.get(endpointId)?.pending.values() ?? [];

function removePending(world: World, delivery: DeliveryRecord): void {
  const all = schedulerOf(world).endpoints.get(delivery.endpointId)?.pending;
  const pending = all?.get(delivery.id);
  if (!pending) return;
  unschedule(pending);
  all?.delete(delivery.id);
}

/** An attempt that is due: it runs, or waits for a free connection to its endpoint, or for the event before it. */
type DueAttempt =
  | { readonly state: "running"; readonly sinceMs: number }
  | { readonly state: "waits for a connection" | "waits for an event"; readonly sinceMs: null };

/** `undefined`: no attempt is due. */
export function dueAttemptOf(world: World, { id, endpointId }: DeliveryRecord): DueAttempt | undefined {
  const endpoint = schedulerOf(world).endpoints.get(endpointId);
  const pending = endpoint?.pending.get(id);
  if (!endpoint || !pending || pending.state === "idle") return undefined;
  if (pending.state === "sending") return { state: "running", sinceMs: pending.sentAtMs };
  const state = endpoint.queue.isFull() ? "waits for a connection" : "waits for an event";
  return { state, sinceMs: null };
}

/** Discards old deliveries past the bounds. */
export function keepWithinBounds(world: World): void {
  for (const old of discardOldDeliveries(world)) removePending(world, old);
}

/** Applies the result of an attempt in the order of all attempts. */
export function whenAttempted(world: World, attempt: Promise<() => void>): void {
  schedulerOf(world).whenDone(attempt, (apply) => apply());
}

/** Schedules the next attempt after this wait on the mock's clock. */
export function schedule(world: World, pending: PendingDelivery, delayMs: number): void {
  if (delayMs <= 0) {
    enqueue(world, pending);
    return;
  }
  pending.delivery.nextAttemptAtMs = world.clock.now() + delayMs;
  pending.scheduled = { dueMs: world.clock.monotonic() + delayMs, rank: pending.rank, pending };
  schedulerOf(world).timers.add(pending.scheduled);
}

export function unschedule(pending: PendingDelivery): void {
  if (pending.scheduled) pending.scheduled.pending = null;
  pending.scheduled = null;
}

/** Ends a delivery with its last attempt. */
export function finish(world: World, delivery: DeliveryRecord, status: "succeeded" | "failed"): void {
  delivery.status = status;
  delivery.nextAttemptAtMs = null;
  removePending(world, delivery);
}

/** Called when an endpoint is deleted: no further attempts, retries included (W10). */
export function cancelDeliveries(world: World, endpointId: string): void {
  for (const pending of pendingOf(world, endpointId)) cancel(world, pending);
  schedulerOf(world).endpoints.delete(endpointId);
}

function cancel(world: World, pending: PendingDelivery): void {
  pending.delivery.status = "cancelled";
  pending.delivery.nextAttemptAtMs = null;
  unschedule(pending);
  emitDelivery(world, "delivery.cancelled", pending.delivery);
}

function endpointQueue(world: World, endpointId: string): EndpointQueue {
  return getOrCreate(schedulerOf(world).endpoints, endpointId, () => {
    const endpoint: EndpointQueue = {
      pending: new Map(),
      deferred: new Set(),
      queue: createKeyedQueue({
        inFlightMax: () => world.settings.delivery.inFlightPerEndpointMax,
        mayStart(pending) {
          const may = pending.delivery.status === "pending" && !world.ended;
          if (!may) pending.state = "idle";
          return may;
        },
        start(pending) {
          const attempt = attemptDelivery(world, endpoint, pending);
          world.track(attempt);
          return attempt;
        },
        whenDone: schedulerOf(world).whenDone,
      }),
    };
    return endpoint;
  });
}

function enqueue(world: World, pending: PendingDelivery): void {
  // Resumed while it is still queued, or while an attempt is in flight: it continues from there.
  if (pending.state !== "idle") return;
  pending.state = "queued";
  endpointQueue(world, pending.delivery.endpointId).queue.enqueue(pending.event.subject, pending);
}

/** @returns a function that applies the result */
async function attemptDelivery(
  world: World,
  { deferred }: EndpointQueue,
  pending: PendingDelivery,
): Promise<() => void> {
  const { delivery, event } = pending;
  const endpoint = world.state.endpoints.get(delivery.endpointId);
  if (!endpoint) {
    cancel(world, pending);
    return nothing;
  }
  deferred.delete(pending);
  delete delivery.reordered;
  const { id, endpointId, eventName } = delivery;
  const attempt = countScheduled(delivery) + 1;
  const faults = delivery.drawnFaults ?? world.faults.drawDelivery({ id, endpointId, eventName, attempt });
  delete delivery.drawnFaults;
  if (defer(world, deferred, pending, faults)) return nothing;

  pending.state = "sending";
  pending.sentAtMs = world.clock.now();
  delivery.nextAttemptAtMs = null;
  const kinds: AttemptKind[] = ["scheduled", ...Array<AttemptKind>(copiesOf(faults)).fill("duplicate")];
  const results = await Promise.all(
    kinds.map((kind) => makeAttempt(world, { delivery, event, endpoint, faults, kind })),
  );
  return () => {
    if (world.ended) return;
    pending.state = "idle";
    for (const result of results) countAttempt(world, result, event.body);
    const attempts = results.map((result) => recordAttempt(delivery, result));
    settle(world, pending, attempts);
    for (const attempt of attempts) emitAttempt(world, delivery, attempt);
    for (const other of [...deferred].sort((a, b) => a.rank - b.rank)) resume(world, deferred, other);
    keepWithinBounds(world);
  };
}

const nothing = () => undefined;

const copiesOf = (faults: readonly DeliveryFault[]) =>
  faults.reduce((sum, fault) => sum + (fault.kind === "duplicate" ? (fault.copies ?? 1) : 0), 0);

/** Applies a `delay` or `reorder` fault; the other faults are kept for the deferred attempt. */
function defer(
  world: World,
  deferred: Set<PendingDelivery>,
  pending: PendingDelivery,
  faults: DeliveryFault[],
): boolean {
  const index = faults.findIndex(({ kind }) => kind === "delay" || kind === "reorder");
  const fault = faults[index];
  if (fault?.kind !== "delay" && fault?.kind !== "reorder") return false;
  pending.state = "idle";
  pending.delivery.drawnFaults = faults.filter((_, other) => other !== index);
  if (fault.kind === "reorder") {
    deferred.add(pending);
    pending.delivery.reordered = true;
  }
  const { reorderHoldMs } = world.settings.delivery;
  schedule(world, pending, fault.kind === "delay" ? fault.delayMs : reorderHoldMs);
  return true;
}

function resume(world: World, deferred: Set<PendingDelivery>, pending: PendingDelivery): void {
  deferred.delete(pending);
  delete pending.delivery.reordered;
  if (pending.state !== "idle" || pending.scheduled === null) return;
  unschedule(pending);
  enqueue(world, pending);
}

/** Ends the delivery, or schedules its next attempt. */
function settle(world: World, pending: PendingDelivery, attempts: readonly AttemptRecord[]): void {
  const { delivery } = pending;
  if (attempts.some(({ error }) => error === null)) {
    finish(world, delivery, "succeeded");
  } else if (isUnfinished(delivery)) {
    const delayMs = retryDelayMs(world, delivery, attempts[0]);
    if (delayMs === null) finish(world, delivery, "failed");
    else if (delivery.status === "pending") schedule(world, pending, delayMs);
    else delivery.nextAttemptAtMs = world.clock.now() + delayMs;
  }
}

const retryDelayMs = (world: World, delivery: DeliveryRecord, last: AttemptRecord | undefined) =>
  nextAttemptDelayMs({
    scheduleMs: world.settings.delivery.scheduleMs,
    attempts: countScheduled(delivery),
    status: last?.status ?? null,
    retryAfter: last?.responseHeaders["retry-after"],
    nowMs: world.clock.now(),
  });
