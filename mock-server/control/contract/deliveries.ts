import { z } from "zod";
import { attemptSchema, deliveryStatusSchema } from "../../state/records.ts";
import { expectedNumber, id, listOf, listQuery, pageOf, time, waitLimit } from "./fields.ts";
import { defineRoute } from "./route.ts";

const { startedAtMs: _, ...attemptFields } = attemptSchema.shape;
const attempt = z.object({ ...attemptFields, startedAt: time });

const subject = z.string().describe("What the event is about: the task's id, for example.");

const deliveryFields = {
  id: id.describe("Also the `webhook-id`."),
  event: z.string(),
  eventId: id,
  workspaceId: id,
  endpointId: id,
  status: deliveryStatusSchema,
  subject,
  createdAt: time,
  nextAttemptAt: time.nullable(),
};

export const deliverySummary = z.object({
  ...deliveryFields,
  attemptCount: z.int(),
  lastStatus: z.int().nullable().describe("HTTP status of the last attempt; `null` without a response."),
  lastError: z.string().nullable().describe("Why the last attempt did not succeed."),
});
const deliveryDetail = z.object({ ...deliveryFields, attempts: z.array(attempt) });

const deliveryFilter = {
  endpointId: id.optional(),
  event: z.string().optional(),
  status: deliveryStatusSchema.optional(),
  subject: subject.optional(),
  workspaceId: id.optional(),
};

export const expectedDeliveries = z.strictObject({
  ...deliveryFilter,
  attempted: z.boolean().optional().describe("`true`: only those with at least one attempt."),
  responseStatus: z.int().optional().describe("HTTP status of the last response."),
  ...expectedNumber,
  ...waitLimit,
});

export type DeliveryAttempt = z.output<typeof attempt>;
export type DeliverySummary = z.output<typeof deliverySummary>;
export type DeliveryDetail = z.output<typeof deliveryDetail>;
export type DeliveryFilter = Omit<z.output<typeof expectedDeliveries>, "count" | "times" | "timeoutMs">;
/** What a delivery must be like. */
export type ExpectedDeliveries = z.output<typeof expectedDeliveries>;

export const deliveryRoutes = {
  listDeliveries: defineRoute("GET /deliveries", {
    summary: "A page of deliveries.",
    input: z.strictObject({ ...listQuery, ...deliveryFilter }),
    response: pageOf(deliverySummary),
  }),
  getDelivery: defineRoute("GET /deliveries/{id}", {
    summary: "One delivery with every attempt: exact headers and body, and the response.",
    response: deliveryDetail,
  }),
  replayDelivery: defineRoute("POST /deliveries/{id}/replay", {
    summary: "Sends a delivery again: same id, new timestamp and signature. Responds after the attempt.",
    response: deliveryDetail,
  }),
  waitForDeliveries: defineRoute("POST /deliveries/wait", {
    summary:
      "Responds once enough matching deliveries exist, or with 408, the nearest ones and why they differ.",
    input: expectedDeliveries,
    response: listOf(deliverySummary),
  }),
};
