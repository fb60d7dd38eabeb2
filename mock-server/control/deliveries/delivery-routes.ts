import * as z from "zod";
import { attemptSchema, deliveryStatusSchema } from "../../state/records.ts";
import * as fields from "../contract/fields.ts";
import { barsQuery, histogramOf } from "../contract/histogram.ts";
import { defineRoute } from "../contract/route.ts";
import { deliveryOutcomes } from "../lists/series.ts";

const { startedAtMs: _, ...attemptFields } = attemptSchema.shape;
const attempt = z.object({ ...attemptFields, startedAt: fields.time });

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
export type DeliverySearch = { readonly [Name in keyof typeof deliverySearch]?: string | undefined };
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
  }),
  countDeliveries: defineRoute("GET /deliveries/histogram", {
    summary: "How many deliveries were created per interval, by what became of them.",
    input: z.strictObject({ ...listed, ...barsQuery }),
    response: histogramOf(outcome),
  }),
  getDelivery: defineRoute("GET /deliveries/{id}", {
    summary: "One delivery with every attempt: exact headers and body, and the response.",
    response: deliveryDetail,
  }),
  replayDelivery: defineRoute("POST /deliveries/{id}/replay", {
    summary: "Sends a delivery again: same id, new timestamp and signature. Responds after the attempt.",
    response: deliveryDetail,
  }),
  replayDeliveries: defineRoute("POST /deliveries/replay", {
    summary: "Sends all matching deliveries again; responds when the attempts have started.",
    input: bulkReplay,
    status: 202,
    response: z.object({
      started: z.int(),
      skipped: z.int().describe("Those whose endpoint is disabled or deleted."),
    }),
  }),
  waitForDeliveries: defineRoute("POST /deliveries/wait", {
    summary:
      "Responds once enough matching deliveries exist, or with 408, the nearest ones and why they differ.",
    input: expectedDeliveries,
    response: fields.listOf(deliverySummary),
  }),
};
