import { customerError, taxPrepResult } from "@workspace-tasks/events/fields";
import * as z from "zod";
import type { Immutable } from "../../state/fault.ts";
import { stagePlanSchema, taskOutcomeSchema, taskPlanSchema, taskStatusSchema } from "../../state/records.ts";
import { id, listQuery, pageOf, searchText, time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";
import { deliverySummary } from "../deliveries/delivery-routes.ts";
import { eventSummary } from "../events/event-routes.ts";

const stagePlan = stagePlanSchema.extend({
  durationMs: stagePlanSchema.shape.durationMs.optional().describe("Default: 0."),
});

const taskPlan = z.strictObject({
  progression: taskPlanSchema.shape.progression
    .optional()
    .describe("Default: as in the mock's plan for the task type."),
  stages: z.array(stagePlan).max(1_000).optional(),
  outcome: taskOutcomeSchema.optional().describe("How the task ends when no stage has failed."),
});

const newTask = z.strictObject({
  workspaceId: id.optional().describe("Default: the client's, else the first workspace."),
  clientId: id.optional().describe("Default: a new client."),
  taskType: z.string().min(1),
  ...taskPlan.shape,
  attributes: z
    .array(z.strictObject({ name: z.string(), value: z.string() }))
    .max(100)
    .optional(),
});

const taskChange = z.strictObject({
  status: taskStatusSchema,
  errorMessage: z.string().optional(),
  customerError: customerError.sent.nullable().optional(),
  taxPrepResult: taxPrepResult.sent.nullable().optional(),
  withinRetryGrace: z
    .boolean()
    .optional()
    .describe("Whether a failure is not classified yet. Default: by its time since the task's start."),
});

const stageChange = z.strictObject({
  subTaskType: z.string().min(1),
  status: taskStatusSchema,
  errorMessage: z.string().optional(),
});

const stage = z.object({
  subTaskId: id,
  subTaskType: z.string(),
  status: taskStatusSchema,
  startedAt: time,
  completedAt: time.nullable(),
  errorMessage: z.string().nullable(),
});

const taskSummary = z.object({
  taskId: id,
  taskType: z.string(),
  status: taskStatusSchema,
  workspaceId: id,
  clientId: id,
  client: z.string().describe("The client's name."),
  errorMessage: z.string().nullable(),
  startedAt: time,
  completedAt: time.nullable(),
  stagesDone: z.int(),
  stages: z.int().describe("Those that have started and those that are planned."),
});

const listedTask = taskSummary.extend({
  rejectedDeliveries: z.int().describe("Deliveries of its events that the receiver has not accepted."),
});

const taskDetail = listedTask.extend({
  subTasks: z.array(stage),
  stageEndsAt: time.nullable().describe("`null` unless the task progresses by itself."),
  stagesAhead: z
    .array(z.object({ subTaskType: z.string(), durationMs: z.number() }))
    .describe("What is planned after the running stage."),
  events: z
    .array(eventSummary.extend({ deliveries: z.array(deliverySummary) }))
    .describe("Events about the task; only those that an endpoint subscribes to are kept."),
});

const tasksQuery = z.strictObject({
  ...listQuery,
  status: taskStatusSchema.optional(),
  type: z.string().optional(),
  workspaceId: id.optional(),
  text: searchText.optional(),
});

export type StartTaskInput = Immutable<z.input<typeof newTask>>;
export type TaskPlanInput = Immutable<z.input<typeof taskPlan>>;
export type SetTaskStatusInput = Immutable<z.input<typeof taskChange>>;
export type SetStageStatusInput = Immutable<z.input<typeof stageChange>>;
export type StageView = z.output<typeof stage>;
export type ListedTask = z.output<typeof listedTask>;
export type TaskSummary = z.output<typeof taskSummary>;
export type TaskDetail = z.output<typeof taskDetail>;

export const taskRoutes = {
  startTask: defineRoute("POST /tasks", {
    summary: "Starts a task with status RUNNING.",
    input: newTask,
    status: 201,
    response: taskSummary,
  }),
  listTasks: defineRoute("GET /tasks", {
    summary: "A page of tasks.",
    input: tasksQuery,
    response: pageOf(listedTask),
  }),
  getTask: defineRoute("GET /tasks/{id}", {
    summary: "One task with its stages, and the events and deliveries about it.",
    response: taskDetail,
  }),
  setTaskStatus: defineRoute("POST /tasks/{id}/status", {
    summary: "Changes the status of a task.",
    input: taskChange,
    response: taskSummary,
  }),
  setStageStatus: defineRoute("POST /tasks/{id}/subtasks", {
    summary: "Starts or finishes a stage of a task.",
    input: stageChange,
    status: 201,
    response: stage,
  }),
  setTaskPlan: defineRoute("PUT /task-plans/{taskType}", {
    summary:
      "Changes how new tasks of a type progress; running tasks keep their plan. Without fields: as in the settings again.",
    input: taskPlan,
  }),
};
