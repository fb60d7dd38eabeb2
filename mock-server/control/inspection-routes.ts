import { z } from "zod";
import { deliverySummary } from "./delivery-routes.ts";
import { deliveryStatus, id, pageOf, taskStatus, time } from "./fields.ts";
import { requestView } from "./request-routes.ts";
import { defineRoute } from "./route.ts";

// What a person wants to see of the mock: newest first, with names beside ids.

const newestFirst = {
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  before: z.string().optional().describe("Cursor: the `iterator` of the page that is newer."),
};

export const overviewView = z.object({
  clients: z.int(),
  endpoints: z.int(),
  events: z.int(),
  tasks: z.record(taskStatus, z.int()),
  deliveries: z.record(deliveryStatus, z.int()),
  upcoming: z
    .array(
      z.object({
        kind: z.enum(["attempt", "stage"]),
        id: id.describe("Of the delivery that is attempted, or of the task whose stage ends."),
        name: z.string().describe("Of the event, or of the stage."),
        attempt: z.int().nullable().describe("Its number; `null` for a stage."),
        at: time,
      }),
    )
    .describe("What is due next, soonest first, at most ten."),
});

export const tasksQuery = z.strictObject({
  ...newestFirst,
  status: taskStatus.optional(),
  type: z.string().optional(),
  workspaceId: id.optional(),
});

export const taskSummary = z.object({
  taskId: id,
  taskType: z.string(),
  status: taskStatus,
  client: z.string().describe("The client's name."),
  workspaceId: id,
  startedAt: time,
  completedAt: time.nullable(),
  stagesDone: z.int(),
  stages: z.int().describe("Those that have started and those that are planned."),
});

const stageHistory = z.object({
  subTaskId: id,
  subTaskType: z.string(),
  status: taskStatus,
  startedAt: time,
  completedAt: time.nullable(),
  errorMessage: z.string().nullable(),
});

const eventSummary = z.object({ eventId: id, name: z.string(), occurredAt: time });

export const taskHistory = z.object({
  ...taskSummary.shape,
  clientId: id,
  errorMessage: z.string().nullable(),
  subTasks: z.array(stageHistory),
  stageEndsAt: time.nullable().describe("`null` unless the task moves on by itself."),
  stagesAhead: z
    .array(z.object({ subTaskType: z.string(), durationMs: z.number() }))
    .describe("What is planned after the stage under way."),
  events: z
    .array(eventSummary.extend({ deliveries: z.array(deliverySummary) }))
    .describe("What its changes caused; only events that an endpoint wanted are kept."),
});

export const deliveryLogQuery = z.strictObject({
  ...newestFirst,
  status: deliveryStatus.optional(),
  event: z.string().optional(),
  endpointId: id.optional(),
});

export const eventView = eventSummary.extend({
  workspaceId: id,
  body: z.string().describe("The exact text that is signed and sent."),
  deliveries: z.array(deliverySummary),
});

export const endpointView = z.object({
  id,
  workspaceId: id,
  workspace: z.string().describe("The workspace's name."),
  url: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  eventTypes: z.array(z.string()).nullable(),
  createdAt: time,
  updatedAt: time,
  secrets: z
    .array(z.object({ state: z.enum(["current", "grace", "expired"]), expiresAt: time.nullable() }))
    .describe("Newest first; the secrets themselves have a call of their own."),
});

export const secretView = z.object({
  secret: z.string(),
  state: z.enum(["current", "grace", "expired"]),
  expiresAt: time.nullable(),
});

export const inspectionRoutes = [
  defineRoute({
    method: "GET",
    path: "/overview",
    summary: "Counts of everything, and what is due next.",
    answer: overviewView,
    run: (admin) => admin.overview(),
  }),
  defineRoute({
    method: "GET",
    path: "/tasks",
    summary: "Tasks, newest first.",
    query: tasksQuery,
    answer: pageOf(taskSummary),
    run: (admin, { query }) => admin.tasks(query),
  }),
  defineRoute({
    method: "GET",
    path: "/tasks/{id}/history",
    summary: "One task with the times of its stages, and the events and deliveries it caused.",
    answer: taskHistory,
    run: (admin, { params }) => admin.taskHistory(params.id),
  }),
  defineRoute({
    method: "GET",
    path: "/delivery-log",
    summary: "Deliveries, newest first.",
    query: deliveryLogQuery,
    answer: pageOf(deliverySummary),
    run: (admin, { query }) => admin.deliveryLog(query),
  }),
  defineRoute({
    method: "GET",
    path: "/request-log",
    summary: "Journal of GraphQL requests, newest first.",
    query: z.strictObject(newestFirst),
    answer: pageOf(requestView),
    run: (admin, { query }) => admin.requestLog(query),
  }),
  defineRoute({
    method: "GET",
    path: "/events/{id}",
    summary: "One event with its exact body and its deliveries.",
    answer: eventView,
    run: (admin, { params }) => admin.event(params.id),
  }),
  defineRoute({
    method: "GET",
    path: "/endpoints",
    summary: "Webhook endpoints of all workspaces, without their secrets.",
    answer: z.object({ data: z.array(endpointView) }),
    run: (admin) => ({ data: admin.endpoints() }),
  }),
  defineRoute({
    method: "GET",
    path: "/endpoints/{id}/secrets",
    summary: "The signing secrets of an endpoint, newest first; those out of their grace period too.",
    answer: z.object({ data: z.array(secretView) }),
    run: (admin, { params }) => ({ data: admin.endpointSecrets(params.id) }),
  }),
];
