import { difference } from "../../checks.ts";
import { MockServerError } from "../../errors.ts";
import { replayDelivery } from "../../rules/deliveries.ts";
import { countScheduled, isUnfinished } from "../../rules/delivery-attempt.ts";
import { deliveriesOfEvent, eventsOfSubject } from "../../rules/delivery-retention.ts";
import { dueAttemptOf } from "../../rules/delivery-scheduler.ts";
import { describeUnknownEvent } from "../../rules/events.ts";
import { found } from "../../rules/service-error.ts";
import type { AttemptRecord, DeliveryRecord } from "../../state/records.ts";
import { isoTime, isoTimeOrNull, waitTimeoutMs } from "../../time/duration.ts";
import type { NumberedActivity, World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import { countByTime, createRangeFilter } from "../lists/histogram.ts";
import { listPage } from "../lists/list-page.ts";
import { type DeliveryOutcome, deliveryOutcomes } from "../lists/series.ts";
import { createTextMatch } from "../lists/text-match.ts";
import { waitForMatches } from "../lists/wait-for-matches.ts";
import type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryFilter,
  DeliverySearch,
  DeliverySummary,
  deliveryRoutes,
} from "./delivery-routes.ts";

export function createDeliveryControls(worlds: WorldHolder): ControlsOf<typeof deliveryRoutes> {
  const find = (deliveryId: string): DeliveryRecord =>
    found(worlds.current.state.deliveries.get(deliveryId), `delivery "${deliveryId}" not found`);
  return {
    listDeliveries(query = {}) {
      const world = worlds.current;
      return listPage(candidates(world, query), query, {
        positionOf: ({ id }) => id,
        matches: createDeliveryFilter(world, query),
        view: (delivery) => viewDeliverySummary(world, delivery),
      });
    },
    countDeliveries({ bars, ...filter } = {}) {
      const world = worlds.current;
      const items = [...candidates(world, filter)]
        .filter(createDeliveryFilter(world, filter))
        .map((delivery) => ({ atMs: delivery.createdAtMs, series: outcomeOf(delivery) }));
      return countByTime(items, deliveryOutcomes, { ...filter, bars });
    },
    getDelivery: (deliveryId) => viewDelivery(worlds.current, find(deliveryId)),
    async replayDelivery(deliveryId) {
      const delivery = find(deliveryId);
      await replayDelivery(worlds.current, deliveryId);
      return viewDelivery(worlds.current, delivery);
    },
    replayDeliveries({ limit = 1_000, rejected = true, ...filter } = {}) {
      const world = worlds.current;
      const matches = createDeliveryFilter(world, { ...filter, rejected });
      const newest = [...candidates(world, filter)].filter(matches).toReversed().slice(0, limit);
      const ready = newest.filter(({ endpointId }) => world.state.endpoints.get(endpointId)?.enabled);
      for (const { id } of ready) void replayDelivery(world, id);
      return { started: ready.length, skipped: newest.length - ready.length };
    },
    async waitForDeliveries({ count, times, timeoutMs = waitTimeoutMs, ...filter } = {}, { signal } = {}) {
      const world = worlds.current;
      checkEvent(world, filter.event);
      const expectation = {
        noun: "delivery",
        items: () => world.state.deliveries.values(),
        candidates: () => candidates(world, filter),
        itemOf: ({ deliveryId }: NumberedActivity) => world.state.deliveries.get(String(deliveryId)),
        differences: (delivery: DeliveryRecord) => differences(world, delivery, filter),
        describe: describeDelivery,
      };
      const matching = await waitForMatches(world, expectation, { count, times }, { timeoutMs, signal });
      return { data: matching.map((delivery) => viewDeliverySummary(world, delivery)) };
    },
  };
}

/** Those that a filter may match: of one subject they are found without a look at all others. */
function candidates(world: World, { subject }: DeliveryFilter): Iterable<DeliveryRecord> {
  if (subject === undefined) return world.state.deliveries.values();
  return eventsOfSubject(world, subject).flatMap(({ id }) => deliveriesOfEvent(world, id));
}

/** With a misspelt event a wait fails without its cause, and `times: 0` never does. */
function checkEvent(world: World, event: string | undefined): void {
  const problem = event === undefined ? undefined : describeUnknownEvent(world, event);
  if (problem !== undefined) throw new MockServerError("BODY_INVALID", `event: ${problem}`);
}

type ListFilter = DeliveryFilter & DeliverySearch & { readonly rejected?: boolean | undefined };

function createDeliveryFilter(world: World, filter: ListFilter): (delivery: DeliveryRecord) => boolean {
  const { rejected, outcome, lastResponse, text } = filter;
  const contains = createTextMatch(text);
  const isInRange = createRangeFilter(filter);
  return (delivery) =>
    isInRange(delivery.createdAtMs) &&
    (rejected === undefined || isRejected(delivery) === rejected) &&
    (outcome === undefined || outcomeOf(delivery) === outcome) &&
    (lastResponse === undefined || hasLastResponse(delivery, lastResponse)) &&
    differences(world, delivery, filter).length === 0 &&
    (text === undefined || contains(...textsOfDelivery(world, delivery)));
}

/** Whether the last attempt failed, of a delivery that has neither succeeded nor been cancelled. */
export const isRejected = ({ status, attempts }: DeliveryRecord): boolean =>
  status !== "succeeded" && status !== "cancelled" && (attempts.at(-1)?.error ?? null) !== null;

function outcomeOf(delivery: DeliveryRecord): DeliveryOutcome {
  if (delivery.status === "succeeded") return "delivered";
  if (delivery.status === "cancelled") return "cancelled";
  return isRejected(delivery) ? "rejected" : "waiting";
}

function hasLastResponse({ attempts }: DeliveryRecord, expected: string): boolean {
  const last = attempts.at(-1);
  if (!last) return false;
  if (last.status === null) return expected === "none";
  return expected.endsWith("xx") ? expected[0] === String(last.status)[0] : expected === String(last.status);
}

/** The texts that a search looks at. */
export function textsOfDelivery(world: World, delivery: DeliveryRecord): readonly (string | undefined)[] {
  const event = world.state.events.get(delivery.eventId);
  const { url, client } = aboutDelivery(world, delivery);
  const responses = delivery.attempts.map(({ responseBody }) => responseBody);
  return [
    delivery.id,
    delivery.eventId,
    delivery.eventName,
    delivery.endpointId,
    event?.subject,
    url,
    client?.name,
    event?.body,
    ...responses,
  ];
}

function aboutDelivery({ state }: World, { eventId, endpointId }: DeliveryRecord) {
  const subject = state.events.get(eventId)?.subject ?? "";
  const task = state.tasks.get(subject);
  return {
    subject,
    task,
    client: state.clients.get(task?.clientId ?? subject),
    url: state.endpoints.get(endpointId)?.url,
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

const viewDelivery = (world: World, delivery: DeliveryRecord): DeliveryDetail => ({
  ...viewDeliverySummary(world, delivery),
  attempts: delivery.attempts.map(viewAttempt),
});

export function viewDeliverySummary(world: World, delivery: DeliveryRecord): DeliverySummary {
  const { subject, task, client, url } = aboutDelivery(world, delivery);
  const triesMax = world.settings.delivery.scheduleMs.length;
  const due = dueAttemptOf(world, delivery);
  const last = delivery.attempts.at(-1);
  return {
    id: delivery.id,
    event: delivery.eventName,
    eventId: delivery.eventId,
    workspaceId: delivery.workspaceId,
    endpointId: delivery.endpointId,
    status: delivery.status,
    subject,
    createdAt: isoTime(delivery.createdAtMs),
    nextAttemptAt: isoTimeOrNull(delivery.nextAttemptAtMs),
    url: url ?? null,
    taskId: task?.id ?? null,
    client: client?.name ?? null,
    nextTry: isUnfinished(delivery) ? countScheduled(delivery) + 1 : null,
    triesMax,
    rejected: isRejected(delivery),
    due: due?.state ?? null,
    runningSince: isoTimeOrNull(due?.sinceMs ?? null),
    attemptCount: delivery.attempts.length,
    lastStatus: last?.status ?? null,
    lastError: last?.error ?? null,
  };
}

const viewAttempt = ({ startedAtMs, ...attempt }: AttemptRecord): DeliveryAttempt => ({
  ...attempt,
  startedAt: isoTime(startedAtMs),
});
