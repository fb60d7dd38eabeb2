import { type CustomerError, customerError, taxPrepResult } from "@workspace-tasks/events/fields";
import { groupBy } from "@workspace-tasks/kernel/group-by.ts";
import * as z from "zod";
import { addClient } from "../rules/clients.ts";
import { eventsOfSubject } from "../rules/delivery-retention.ts";
import { badInput, found, notFound } from "../rules/service-error.ts";
import {
  checkTaskLimit,
  findTask,
  planFor,
  setStageStatus,
  setTaskPlan,
  setTaskStatus,
  stageEndMs,
  stagesAhead,
  startTask,
} from "../rules/tasks.ts";
import type { Immutable } from "../state/fault.ts";
import {
  type StageRecord,
  stagePlanSchema,
  type TaskPlan,
  type TaskRecord,
  type TaskStatus,
  taskOutcomeSchema,
  taskPlanSchema,
  taskStatusSchema,
} from "../state/records.ts";
import { isoTime, isoTimeOrNull } from "../time/duration.ts";
import type { World } from "../world/world.ts";
import { deliverySummary, isRejected } from "./deliveries.ts";
import { eventSummary, viewEvent } from "./events.ts";
import { id, listQuery, pageOf, searchText, time } from "./fields.ts";
import { createTextMatch, listPage } from "./lists.ts";
import { defineRoute } from "./route.ts";

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
type TaskPlanInput = Immutable<z.input<typeof taskPlan>>;
export type SetTaskStatusInput = Immutable<z.input<typeof taskChange>>;
export type SetStageStatusInput = Immutable<z.input<typeof stageChange>>;
type StageView = z.output<typeof stage>;
export type ListedTask = z.output<typeof listedTask>;
export type TaskSummary = z.output<typeof taskSummary>;
export type TaskDetail = z.output<typeof taskDetail>;

export const taskRoutes = {
  startTask: defineRoute("POST /tasks", {
    summary: "Starts a task with status RUNNING.",
    input: newTask,
    status: 201,
    response: taskSummary,
    run({ worlds }, input) {
      const world = worlds.current;
      // Before a client is added for it.
      checkTaskLimit(world);
      const workspaceId =
        input.workspaceId ?? clientWorkspace(world, input.clientId) ?? worlds.seedData.workspaceId;
      const task = startTask(world, {
        workspaceId,
        clientId: input.clientId ?? addGeneratedClient(world, workspaceId),
        type: input.taskType,
        attributes: input.attributes,
        plan: planOf(world, input.taskType, input),
      });
      return viewTaskSummary(world, task);
    },
  }),
  listTasks: defineRoute("GET /tasks", {
    summary: "A page of tasks.",
    input: tasksQuery,
    response: pageOf(listedTask),
    run({ worlds }, query = {}) {
      const { status, type, workspaceId, text } = query;
      const world = worlds.current;
      const contains = createTextMatch(text);
      const rejected = rejectedBySubject(world);
      return listPage(world.state.tasks.values(), query, {
        positionOf: ({ id }) => id,
        matches: (task) =>
          (status === undefined || task.status === status) &&
          (type === undefined || task.type === type) &&
          (workspaceId === undefined || task.workspaceId === workspaceId) &&
          (text === undefined || contains(...textsOfTask(world, task))),
        view: (task) => ({
          ...viewTaskSummary(world, task),
          rejectedDeliveries: rejected.get(task.id)?.length ?? 0,
        }),
      });
    },
  }),
  getTask: defineRoute("GET /tasks/{id}", {
    summary: "One task with its stages, and the events and deliveries about it.",
    response: taskDetail,
    run: ({ worlds: { current } }, taskId) => viewTask(current, findTask(current, taskId)),
  }),
  setTaskStatus: defineRoute("POST /tasks/{id}/status", {
    summary: "Changes the status of a task.",
    input: taskChange,
    response: taskSummary,
    run({ worlds: { current: world } }, taskId, { customerError, ...change }) {
      const { status, errorMessage, taxPrepResult, withinRetryGrace } = change;
      requireStatus("FAILED", status, { errorMessage, customerError, withinRetryGrace });
      requireStatus("COMPLETED", status, { taxPrepResult });
      const { type } = findTask(world, taskId);
      if (taxPrepResult && type !== "TAX_PREP")
        throw badInput(`taxPrepResult: expected for a task of type TAX_PREP only, this one is ${type}`);
      const task = setTaskStatus(world, { taskId, ...change, customerError: toCustomerError(customerError) });
      return viewTaskSummary(world, task);
    },
  }),
  setStageStatus: defineRoute("POST /tasks/{id}/subtasks", {
    summary: "Starts or finishes a stage of a task.",
    input: stageChange,
    status: 201,
    response: stage,
    run({ worlds }, taskId, change) {
      requireStatus("FAILED", change.status, { errorMessage: change.errorMessage });
      return viewStage(setStageStatus(worlds.current, { taskId, ...change }));
    },
  }),
  setTaskPlan: defineRoute("PUT /task-plans/{taskType}", {
    summary:
      "Changes how new tasks of a type progress; running tasks keep their plan. Without fields: as in the settings again.",
    input: taskPlan,
    run: ({ worlds: { current } }, taskType, plan = {}) =>
      setTaskPlan(current, taskType, planOf(current, taskType, plan)),
  }),
};

/** @throws ServiceError BAD_USER_INPUT for a field that a task or stage of another status does not have */
function requireStatus(expected: TaskStatus, status: TaskStatus, fields: Readonly<Record<string, unknown>>) {
  const given = Object.entries(fields).find(([, value]) => value !== undefined && value !== null);
  if (given && status !== expected)
    throw badInput(`${given[0]}: expected with the status ${expected} only, got it with ${status}`);
}

/** The plan of the task's type with some parts replaced; `null` when none is. */
function planOf(world: World, taskType: string, changes: TaskPlanInput): TaskPlan | null {
  const { progression, stages, outcome } = changes;
  if (progression === undefined && stages === undefined && outcome === undefined) return null;
  const plan = planFor(world, taskType);
  return {
    progression: progression ?? plan.progression,
    stages: stages?.map(({ durationMs = 0, ...stage }) => ({ ...stage, durationMs })) ?? plan.stages,
    outcome: outcome ? { ...outcome, customerError: toCustomerError(outcome.customerError) } : plan.outcome,
  };
}

function toCustomerError(error: SetTaskStatusInput["customerError"]): CustomerError | null | undefined {
  return error && { ...error, action: { ...error.action, connectionId: error.action.connectionId ?? null } };
}

function clientWorkspace(world: World, clientId: string | undefined): string | undefined {
  if (clientId === undefined) return undefined;
  const client = found(world.state.clients.get(clientId), "Client not found");
  return client.workspaceId;
}

function addGeneratedClient(world: World, workspaceId: string): string {
  if (!world.state.workspaces.has(workspaceId)) throw notFound("Workspace not found");
  const number = world.state.clients.size + 1;
  return addClient(world, workspaceId, {
    name: `Client ${number}`,
    externalId: `generated-${number}`,
  }).id;
}

function viewTask(world: World, task: TaskRecord): TaskDetail {
  const views = eventsOfSubject(world, task.id).map((event) => viewEvent(world, event));
  return {
    ...viewTaskSummary(world, task),
    rejectedDeliveries: views.flatMap(({ deliveries }) => deliveries).filter(({ rejected }) => rejected)
      .length,
    subTasks: task.stages.map(viewStage),
    stageEndsAt: isoTimeOrNull(stageEndMs(world, task)),
    stagesAhead: stagesAhead(world, task).map(({ type, durationMs }) => ({ subTaskType: type, durationMs })),
    events: views,
  };
}

/** The texts that a search looks at. */
export const textsOfTask = ({ state }: World, task: TaskRecord) => {
  const client = state.clients.get(task.clientId);
  return [task.id, task.type, task.clientId, client?.name, client?.externalId, task.errorMessage];
};

/** Deliveries that their receiver has not accepted, by subject. */
const rejectedBySubject = ({ state }: World) =>
  groupBy(
    [...state.deliveries.values()].filter(isRejected),
    ({ eventId }) => state.events.get(eventId)?.subject,
  );

const viewTaskSummary = (world: World, task: TaskRecord): TaskSummary => ({
  taskId: task.id,
  taskType: task.type,
  status: task.status,
  workspaceId: task.workspaceId,
  clientId: task.clientId,
  client: world.state.clients.get(task.clientId)?.name ?? "",
  errorMessage: task.errorMessage,
  startedAt: isoTime(task.startedAtMs),
  completedAt: isoTimeOrNull(task.completedAtMs),
  stagesDone: task.stages.filter(({ status }) => status !== "RUNNING").length,
  stages: task.stages.length + stagesAhead(world, task).length,
});

const viewStage = (stage: StageRecord): StageView => ({
  subTaskId: stage.id,
  subTaskType: stage.type,
  status: stage.status,
  startedAt: isoTime(stage.startedAtMs),
  completedAt: isoTimeOrNull(stage.completedAtMs),
  errorMessage: stage.errorMessage,
});
