import type { CustomerError } from "@workspace-tasks/events/fields";
import { addClient } from "../../rules/clients.ts";
import { eventsOfSubject } from "../../rules/delivery-retention.ts";
import { badInput, found, notFound } from "../../rules/service-error.ts";
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
} from "../../rules/tasks.ts";
import type { StageRecord, TaskPlan, TaskRecord, TaskStatus } from "../../state/records.ts";
import { isoTime, isoTimeOrNull } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import { isRejected } from "../deliveries/delivery-controls.ts";
import { viewEvents } from "../events/event-controls.ts";
import { listPage } from "../lists/list-page.ts";
import { createTextMatch } from "../lists/text-match.ts";
import type * as routes from "./task-routes.ts";

export function createTaskControls(worlds: WorldHolder): ControlsOf<typeof routes.taskRoutes> {
  return {
    startTask(input) {
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
    listTasks(query = {}) {
      const { status, type, workspaceId, text } = query;
      const world = worlds.current;
      const contains = createTextMatch(text);
      const rejected = countRejected(world);
      return listPage(world.state.tasks.values(), query, {
        positionOf: ({ id }) => id,
        matches: (task) =>
          (status === undefined || task.status === status) &&
          (type === undefined || task.type === type) &&
          (workspaceId === undefined || task.workspaceId === workspaceId) &&
          (text === undefined || contains(...textsOfTask(world, task))),
        view: (task) => ({
          ...viewTaskSummary(world, task),
          rejectedDeliveries: rejected.get(task.id) ?? 0,
        }),
      });
    },
    getTask: (taskId) => viewTask(worlds.current, findTask(worlds.current, taskId)),
    setTaskStatus(taskId, { customerError, ...change }) {
      const world = worlds.current;
      const { status, errorMessage, taxPrepResult, withinRetryGrace } = change;
      requireStatus("FAILED", status, { errorMessage, customerError, withinRetryGrace });
      requireStatus("COMPLETED", status, { taxPrepResult });
      const { type } = findTask(world, taskId);
      if (taxPrepResult && type !== "TAX_PREP")
        throw badInput(`taxPrepResult: expected for a task of type TAX_PREP only, this one is ${type}`);
      const task = setTaskStatus(world, { taskId, ...change, customerError: toCustomerError(customerError) });
      return viewTaskSummary(world, task);
    },
    setStageStatus(taskId, change) {
      requireStatus("FAILED", change.status, { errorMessage: change.errorMessage });
      return viewStage(setStageStatus(worlds.current, { taskId, ...change }));
    },
    setTaskPlan(taskType, plan = {}) {
      setTaskPlan(worlds.current, taskType, planOf(worlds.current, taskType, plan));
    },
  };
}

/** @throws ServiceError BAD_USER_INPUT for a field that a task or stage of another status does not have */
function requireStatus(expected: TaskStatus, status: TaskStatus, fields: Readonly<Record<string, unknown>>) {
  const given = Object.entries(fields).find(([, value]) => value !== undefined && value !== null);
  if (given && status !== expected)
    throw badInput(`${given[0]}: expected with the status ${expected} only, got it with ${status}`);
}

/** The plan of the task's type with some parts replaced; `null` when none is. */
function planOf(world: World, taskType: string, changes: routes.TaskPlanInput): TaskPlan | null {
  const { progression, stages, outcome } = changes;
  if (progression === undefined && stages === undefined && outcome === undefined) return null;
  const plan = planFor(world, taskType);
  return {
    progression: progression ?? plan.progression,
    stages: stages?.map(({ durationMs = 0, ...stage }) => ({ ...stage, durationMs })) ?? plan.stages,
    outcome: outcome ? { ...outcome, customerError: toCustomerError(outcome.customerError) } : plan.outcome,
  };
}

function toCustomerError(
  error: routes.SetTaskStatusInput["customerError"],
): CustomerError | null | undefined {
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

function viewTask(world: World, task: TaskRecord): routes.TaskDetail {
  const views = viewEvents(world, eventsOfSubject(world, task.id));
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
function countRejected({ state }: World): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const delivery of state.deliveries.values()) {
    if (!isRejected(delivery)) continue;
    const subject = state.events.get(delivery.eventId)?.subject ?? "";
    counts.set(subject, (counts.get(subject) ?? 0) + 1);
  }
  return counts;
}

const viewTaskSummary = (world: World, task: TaskRecord): routes.TaskSummary => ({
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

const viewStage = (stage: StageRecord): routes.StageView => ({
  subTaskId: stage.id,
  subTaskType: stage.type,
  status: stage.status,
  startedAt: isoTime(stage.startedAtMs),
  completedAt: isoTimeOrNull(stage.completedAtMs),
  errorMessage: stage.errorMessage,
});
