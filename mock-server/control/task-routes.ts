import { z } from "zod";
import { id, taskStatus } from "./fields.ts";
import { defineRoute } from "./route.ts";

const stagePlan = z.strictObject({
  type: z.string().min(1).describe("Free text, for example `tax-extraction`."),
  durationMs: z.number().nonnegative().default(0),
  status: z.enum(["COMPLETED", "FAILED"]).optional().describe("Default: `COMPLETED`."),
  errorMessage: z.string().optional(),
});

export const customerErrorBody = z.looseObject({
  code: z.string(),
  action: z.looseObject({ type: z.string(), connectionId: z.string().nullable().default(null) }),
});

export const taxPrepResultBody = z.looseObject({
  taxYear: z.int(),
  returnType: z.string(),
  summary: z.string(),
  documentCount: z.int(),
  extractedFormCount: z.int(),
  reviewItemCount: z.int(),
  reviewItems: z.array(
    z.looseObject({ severity: z.string(), category: z.string(), description: z.string() }),
  ),
});

const outcome = z.strictObject({
  status: z.enum(["COMPLETED", "FAILED"]),
  errorMessage: z.string().optional(),
  customerError: customerErrorBody.nullable().optional(),
  taxPrepResult: taxPrepResultBody.optional(),
});

const plan = {
  progression: z
    .enum(["immediate", "timed", "manual"])
    .optional()
    .describe("Default: as the mock's plan for the task type says."),
  stages: z.array(stagePlan).max(1_000).optional(),
  outcome: outcome.optional().describe("How the task ends when no stage has failed."),
};

export const taskPlanBody = z.strictObject(plan);

export const startTaskBody = z.strictObject({
  workspaceId: id.optional().describe("Default: the client's, else the first workspace."),
  clientId: id.optional().describe("Default: a new client."),
  taskType: z.string().min(1),
  ...plan,
  attributes: z
    .array(z.strictObject({ name: z.string(), value: z.string() }))
    .max(100)
    .optional(),
});

export const moveTaskBody = z.strictObject({
  status: taskStatus,
  errorMessage: z.string().optional(),
  customerError: customerErrorBody.nullable().optional(),
  taxPrepResult: taxPrepResultBody.nullable().optional(),
  withinRetryGrace: z
    .boolean()
    .optional()
    .describe("Whether a failure is not classified yet. Default: by its time since the task's start."),
});

export const moveStageBody = z.strictObject({
  subTaskType: z.string().min(1),
  status: taskStatus,
  errorMessage: z.string().optional(),
});

export const stageView = z.object({ subTaskId: id, subTaskType: z.string(), status: taskStatus });

export const taskView = z.object({
  taskId: id,
  workspaceId: id,
  clientId: id,
  taskType: z.string(),
  status: taskStatus,
  errorMessage: z.string().nullable(),
  subTasks: z.array(stageView),
});

export const taskRoutes = [
  defineRoute({
    method: "POST",
    path: "/tasks",
    summary: "Starts a task; it is RUNNING from then on.",
    body: startTaskBody,
    status: 201,
    answer: taskView,
    run: (admin, { body }) => admin.startTask(body),
  }),
  defineRoute({
    method: "PUT",
    path: "/task-plans/{taskType}",
    summary: "Changes how tasks of a type move on from now on; tasks under way keep their plan.",
    body: taskPlanBody,
    run: (admin, { params, body }) => admin.planTasks(params.taskType, body),
  }),
  defineRoute({
    method: "DELETE",
    path: "/task-plans/{taskType}",
    summary: "Lets tasks of a type move on as the mock's settings say.",
    run: (admin, { params }) => admin.planTasks(params.taskType, null),
  }),
  defineRoute({
    method: "GET",
    path: "/tasks/{id}",
    summary: "One task with its stages.",
    answer: taskView,
    run: (admin, { params }) => admin.task(params.id),
  }),
  defineRoute({
    method: "POST",
    path: "/tasks/{id}/status",
    summary: "Moves a task into a status.",
    body: moveTaskBody,
    answer: taskView,
    run: (admin, { params, body }) => admin.moveTask(params.id, body),
  }),
  defineRoute({
    method: "POST",
    path: "/tasks/{id}/subtasks",
    summary: "Starts or finishes a stage of a task.",
    body: moveStageBody,
    status: 201,
    answer: stageView,
    run: (admin, { params, body }) => admin.moveStage(params.id, body),
  }),
];
