import { z } from "zod";
import { deliveryStatus, id, listQuery, pageOf, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const texts = z.record(z.string(), z.string());

export const attemptView = z.object({
  number: z.int(),
  kind: z.enum(["scheduled", "duplicate", "replay"]),
  startedAt: time,
  durationMs: z.number(),
  status: z.int().nullable().describe("HTTP status; `null` when none came."),
  error: z.string().nullable().describe("Why the attempt did not succeed."),
  requestHeaders: texts,
  requestBody: z.string().describe("The exact text that was sent."),
  responseHeaders: texts,
  responseBody: z.string().describe("The first part of the answer."),
  faults: z.array(z.string()).describe("Faults that changed this attempt."),
});

const deliveryFields = {
  id: id.describe("Also the `webhook-id`."),
  event: z.string(),
  eventId: id,
  workspaceId: id,
  endpointId: id,
  status: deliveryStatus,
  subject: z.string().describe("What the event is about: the task's id, for example."),
  createdAt: time,
  nextAttemptAt: time.nullable(),
};

export const deliverySummary = z.object({ ...deliveryFields, attemptCount: z.int() });
export const deliveryView = z.object({ ...deliveryFields, attempts: z.array(attemptView) });
export const deliveryPage = pageOf(deliverySummary);

export const deliveryFilter = {
  endpointId: id.optional(),
  event: z.string().optional(),
  status: deliveryStatus.optional(),
  subject: z.string().optional().describe("What the event is about: the task's id, for example."),
};

export const deliveriesQuery = z.strictObject({ ...deliveryFilter, ...listQuery });

export const waitBody = z.strictObject({
  deliveries: z.strictObject({
    ...deliveryFilter,
    attempted: z.boolean().optional().describe("Only those that have had an attempt."),
    count: z.int().min(1).describe("How many matching deliveries there must be."),
  }),
  timeoutMs: z.int().min(0).max(600_000).default(10_000).describe("On the computer's clock."),
});

export const deliveryRoutes = [
  defineRoute({
    method: "GET",
    path: "/deliveries",
    summary: "Deliveries, oldest first.",
    query: deliveriesQuery,
    answer: deliveryPage,
    run: (admin, { query }) => admin.deliveries(query),
  }),
  defineRoute({
    method: "GET",
    path: "/deliveries/{id}",
    summary: "One delivery with every attempt: exact headers and body, and what came back.",
    answer: deliveryView,
    run: (admin, { params }) => admin.delivery(params.id),
  }),
  defineRoute({
    method: "POST",
    path: "/deliveries/{id}/replay",
    summary: "Sends a delivery again: same id, fresh timestamp and signature. Answers after the attempt.",
    body: z.strictObject({}),
    answer: deliveryView,
    run: (admin, { params }) => admin.replay(params.id),
  }),
  defineRoute({
    method: "POST",
    path: "/wait",
    summary: "Answers once so many matching deliveries exist, or with 408 after the time limit.",
    body: waitBody,
    answer: z.object({ deliveries: z.array(deliverySummary) }),
    run: async (admin, { body, signal }) => ({ deliveries: await admin.wait(body, signal) }),
  }),
];
