import * as z from "zod";
import { difference } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import { replayDelivery } from "../rules/deliveries.ts";
import { countScheduled, isUnfinished } from "../rules/delivery-attempt.ts";
import { deliveriesOfEvent, eventsOfSubject } from "../rules/delivery-retention.ts";
import { dueAttemptOf } from "../rules/delivery-scheduler.ts";
import { describeUnknownEvent } from "../rules/events.ts";
import { found } from "../rules/service-error.ts";
import { attemptSchema, type DeliveryRecord, deliveryStatusSchema } from "../state/records.ts";
import { isoTime, isoTimeOrNull, waitTimeoutMs } from "../time/duration.ts";
import type { NumberedActivity, World } from "../world/world.ts";
import * as fields from "./fields.ts";
import {
  countByTime,
  createRangeFilter,
  createTextMatch,
  type DeliveryOutcome,
  deliveryOutcomes,
  listPage,
} from "./lists.ts";
import { defineRoute } from "./route.ts";
import { waitForMatches } from "./wait-for-matches.ts";

const attempt = fields.shownSchema(attemptSchema);

const subject = z.string().describe("What the event is about: the task's id, for example.");

export const deliverySummary = z.object({
  id: fields.id.describe("Also the `webhook-id`."),
  event: z.string(),
  eventId: fields.id,
  workspaceId: fields.id,
  endpointId: fields.id,
  status: deliveryStatusSchema,
  subject,
  createdAt: fields.time,
  nextAttemptAt: fields.time.nullable(),
  url: z.string().nullable().describe("The endpoint's; `null` once it is deleted."),
  taskId: fields.id.nullable().describe("Of the task that the event is about, if any."),
  client: z.string().nullable().describe("Name of the client that the event is about, if any."),
  nextTry: z
    .int()
    .nullable()
    .describe("Number of the next scheduled attempt; `null` when none will be made."),
  triesMax: z.int().describe("Scheduled attempts before the delivery fails."),
  rejected: z.boolean().describe("Its last attempt failed, and it has neither succeeded nor been cancelled."),
  due: z
    .enum(["running", "waits for a connection", "waits for an event"])
    .nullable()
    .describe(
      "What an attempt that is due does: it runs, or waits for a free connection to the endpoint, or for an earlier event of its subject.",
    ),
  runningSince: fields.time.nullable().describe("Start of the attempt that runs."),
  attemptCount: z.int(),
  lastStatus: z.int().nullable().describe("HTTP status of the last attempt; `null` without a response."),
  lastError: z.string().nullable().describe("Why the last attempt did not succeed."),
});
const deliveryDetail = deliverySummary.extend({ attempts: z.array(attempt) });

const deliveryFilter = {
  endpointId: fields.id.optional(),
  event: z.string().optional(),
  status: deliveryStatusSchema.optional(),
  subject: subject.optional(),
  workspaceId: fields.id.optional(),
};

const outcome = z.enum(deliveryOutcomes);

const trueOrFalse = z.enum(["true", "false"]).transform((value) => value === "true");

/** What the inspector filters by, beyond what a test waits for. */
const deliverySearch = {
  lastResponse: z
    .string()
    .regex(/^([1-5]xx|[1-5][0-9]{2}|none)$/, "expected a status such as 503, a class such as 5xx, or none")
    .optional()
    .describe("HTTP status of the last attempt; `none`: it got no response."),
  outcome: outcome
    .optional()
    .describe("`rejected`: its last attempt failed, whether or not it is tried again."),
  text: fields.searchText.optional(),
  ...fields.timeRange,
};

const expectedDeliveries = z.strictObject({
  ...deliveryFilter,
  attempted: z.boolean().optional().describe("`true`: only those with at least one attempt."),
  responseStatus: z.int().optional().describe("HTTP status of the last response."),
  ...fields.expectedNumber,
  ...fields.waitLimit,
});

const bulkReplay = z.strictObject({
  ...deliveryFilter,
  ...deliverySearch,
  rejected: z
    .boolean()
    .optional()
    .describe("Default: `true`, only those that the receiver has not accepted."),
  limit: z.int().min(1).max(10_000).optional().describe("The newest ones. Default: 1000."),
});

export type DeliveryAttempt = z.output<typeof attempt>;
export type DeliverySummary = z.output<typeof deliverySummary>;
export type DeliveryDetail = z.output<typeof deliveryDetail>;
type DeliverySearch = { readonly [Name in keyof typeof deliverySearch]?: string | undefined };
export type DeliveryFilter = Omit<z.output<typeof expectedDeliveries>, "count" | "times" | "timeoutMs">;
/** What a delivery must be like. */
export type ExpectedDeliveries = z.output<typeof expectedDeliveries>;

const listed = {
  ...deliveryFilter,
  ...deliverySearch,
  rejected: trueOrFalse.optional().describe("`true`: those whose last attempt failed."),
};

export const deliveryRoutes = {
  listDeliveries: defineRoute("GET /deliveries", {
    summary: "A page of deliveries.",
    input: z.strictObject({ ...fields.listQuery, ...listed }),
    response: fields.pageOf(deliverySummary),
    run({ worlds: { current: world } }, query = {}) {
      return listPage(candidates(world, query), query, {
        positionOf: ({ id }) => id,
        matches: createDeliveryFilter(world, query),
        view: (delivery) => viewDeliverySummary(world, delivery),
      });
    },
  }),
  countDeliveries: defineRoute("GET /deliveries/histogram", {
    summary: "How many deliveries were created per interval, by what became of them.",
    input: z.strictObject({ ...listed, ...fields.barsQuery }),
    response: fields.histogramOf(outcome),
    run({ worlds: { current: world } }, { bars, ...filter } = {}) {
      const items = [...candidates(world, filter)]
        .filter(createDeliveryFilter(world, filter))
        .map((delivery) => ({ atMs: delivery.createdAtMs, series: outcomeOf(delivery) }));
      return countByTime(items, deliveryOutcomes, { ...filter, bars });
    },
  }),
  getDelivery: defineRoute("GET /deliveries/{id}", {
    summary: "One delivery with every attempt: exact headers and body, and the response.",
    response: deliveryDetail,
    run: ({ worlds: { current } }, deliveryId) => viewDelivery(current, find(current, deliveryId)),
  }),
  replayDelivery: defineRoute("POST /deliveries/{id}/replay", {
    summary: "Sends a delivery again: same id, new timestamp and signature. Responds after the attempt.",
    response: deliveryDetail,
    async run({ worlds }, deliveryId) {
      const delivery = find(worlds.current, deliveryId);
      await replayDelivery(worlds.current, deliveryId);
      return viewDelivery(worlds.current, delivery);
    },
  }),
  replayDeliveries: defineRoute("POST /deliveries/replay", {
    summary: "Sends all matching deliveries again; responds when the attempts have started.",
    input: bulkReplay,
    status: 202,
    response: z.object({
      started: z.int(),
      skipped: z.int().describe("Those whose endpoint is disabled or deleted."),
    }),
    run({ worlds: { current: world } }, { limit = 1_000, rejected = true, ...filter } = {}) {
      const matches = createDeliveryFilter(world, { ...filter, rejected });
      const newest = [...candidates(world, filter)].filter(matches).toReversed().slice(0, limit);
      const ready = newest.filter(({ endpointId }) => world.state.endpoints.get(endpointId)?.enabled);
      for (const { id } of ready) void replayDelivery(world, id);
      return { started: ready.length, skipped: newest.length - ready.length };
    },
  }),
  waitForDeliveries: defineRoute("POST /deliveries/wait", {
    summary:
      "Responds once enough matching deliveries exist, or with 408, the nearest ones and why they differ.",
    input: expectedDeliveries,
    response: fields.listOf(deliverySummary),
    async run(
      { worlds: { current: world } },
      { count, times, timeoutMs = waitTimeoutMs, ...filter } = {},
      options,
    ) {
      checkEvent(world, filter.event);
      const expectation = {
        noun: "delivery",
        items: () => world.state.deliveries.values(),
        candidates: () => candidates(world, filter),
        itemOf: ({ deliveryId }: NumberedActivity) => world.state.deliveries.get(String(deliveryId)),
        differences: (delivery: DeliveryRecord) => differences(world, delivery, filter),
        describe: describeDelivery,
      };
      const limits = { timeoutMs, signal: options?.signal };
      const matching = await waitForMatches(world, expectation, { count, times }, limits);
      return { data: matching.map((delivery) => viewDeliverySummary(world, delivery)) };
    },
  }),
};

const find = ({ state }: World, deliveryId: string): DeliveryRecord =>
  found(state.deliveries.get(deliveryId), `delivery "${deliveryId}" not found`);

/** The deliveries that a filter may match: those of one subject are found without a look at all others. */
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
  attempts: delivery.attempts.map(fields.shown),
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
