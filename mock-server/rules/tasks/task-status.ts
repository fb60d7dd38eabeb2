import type { CustomerError, TaxPrepResult } from "@workspace-tasks/events/fields";
import type { StageRecord, TaskRecord, TaskStatus } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { conflict, found } from "../service-error.ts";
import { timeAfter } from "../touch.ts";
import { emitStageEvent, emitTaskEvent } from "../webhooks/events.ts";
import { draftTaxPrepResult } from "./tax-prep-result.ts";

/**
 * A task is RUNNING from its creation. From there it becomes COMPLETED, which is final, or FAILED, after which it
 * can run again; each change emits the event of its name, the first one included. Its stages change only while it
 * runs: a stage is RUNNING without an event, then COMPLETED or FAILED with one. No two changes of one task have the
 * same time, since receivers order them by `occurredAt`: a second change within a millisecond is stamped one later.
 *
 *     RUNNING ──► COMPLETED
 *        │ ▲
 *        ▼ │
 *       FAILED
 */
const nextStatuses: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  RUNNING: ["COMPLETED", "FAILED"],
  FAILED: ["RUNNING"],
  COMPLETED: [],
};

export interface TaskStatusInput {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** For FAILED. Default: `Task failed`. */
  readonly errorMessage?: string | null | undefined;
  /** For FAILED. Default: an internal error that asks to contact support. */
  readonly customerError?: CustomerError | null | undefined;
  /** For COMPLETED of a `TAX_PREP`. Default: generated for the client. */
  readonly taxPrepResult?: TaxPrepResult | null | undefined;
  /** Whether a failure is not classified yet. Default: by `settings.tasks.retryGraceMs`. */
  readonly withinRetryGrace?: boolean | undefined;
}

/**
 * Moves a task into another status and emits the event. The task no longer progresses by itself.
 * @throws ServiceError `NOT_FOUND`, or `CONFLICT` for a transition that does not exist
 */
export function setTaskStatus(world: World, input: TaskStatusInput): TaskRecord {
  const task = findTask(world, input.taskId);
  const { status } = input;
  if (!nextStatuses[task.status].includes(status)) {
    throw conflict(`a task that is ${task.status} cannot become ${status}`);
  }
  world.state.progress.delete(task.id);
  task.status = status;
  task.changes++;
  task.changedAtMs = timeAfter(world, task.changedAtMs);
  task.completedAtMs = status === "RUNNING" ? null : task.changedAtMs;
  task.errorMessage = status === "FAILED" ? (input.errorMessage ?? "Task failed") : null;
  task.customerError = status === "FAILED" ? (input.customerError ?? internalError) : null;
  if (status === "COMPLETED" && task.type === "TAX_PREP") {
    task.result = input.taxPrepResult ?? draftTaxPrepResult(world, task);
  }
  notifyTaskChange(world, task, input.withinRetryGrace ?? isWithinRetryGrace(world, task));
  return task;
}

const internalError: CustomerError = {
  code: "INTERNAL",
  action: { type: "CONTACT_SUPPORT", connectionId: null },
};

const isWithinRetryGrace = (world: World, task: TaskRecord) =>
  task.changedAtMs - task.startedAtMs < world.settings.tasks.retryGraceMs;

export interface StageStatusInput {
  readonly taskId: string;
  /** Free text; a running stage of this type is finished, otherwise a new one starts. */
  readonly subTaskType: string;
  readonly status: TaskStatus;
  /** For FAILED. Default: `Stage failed`. */
  readonly errorMessage?: string | null | undefined;
}

/**
 * Starts a stage, or finishes it and emits the event. A stage that was not started before starts and finishes at
 * once.
 * @throws ServiceError `NOT_FOUND`; `CONFLICT` when the task is not running, or the stage is running already
 */
export function setStageStatus(world: World, input: StageStatusInput): StageRecord {
  const task = findTask(world, input.taskId);
  const { subTaskType, status } = input;
  if (task.status !== "RUNNING") throw conflict(`the stages of a task that is ${task.status} do not change`);
  const running = task.stages.find(({ type, status }) => type === subTaskType && status === "RUNNING");
  if (status === "RUNNING") {
    if (running) throw conflict(`stage "${subTaskType}" is already RUNNING`);
    return startStage(world, task, subTaskType);
  }
  const stage = running ?? startStage(world, task, subTaskType);
  finishStage(world, task, stage, status, input.errorMessage ?? null);
  return stage;
}

export function startStage(world: World, task: TaskRecord, type: string): StageRecord {
  const stage: StageRecord = {
    id: world.newId("stage"),
    type,
    status: "RUNNING",
    startedAtMs: stageTimeMs(world, task),
    completedAtMs: null,
    errorMessage: null,
  };
  // `push` allocates 17 slots at once, `concat` one. It counts at 100,000 tasks.
  task.stages = task.stages.concat(stage);
  if (world.hasSubscribers) notifyStageChange(world, task, stage);
  return stage;
}

export function finishStage(
  world: World,
  task: TaskRecord,
  stage: StageRecord,
  status: "COMPLETED" | "FAILED",
  errorMessage: string | null,
): void {
  stage.status = status;
  stage.completedAtMs = stageTimeMs(world, task);
  stage.errorMessage = status === "FAILED" ? (errorMessage ?? "Stage failed") : null;
  if (world.hasSubscribers) notifyStageChange(world, task, stage);
  emitStageEvent(world, task, stage);
}

/** Never before the change that set the task running, which may be stamped ahead of the clock. */
const stageTimeMs = (world: World, task: TaskRecord) => Math.max(world.clock.now(), task.changedAtMs);

export const findTask = (world: World, taskId: string): TaskRecord =>
  found(world.state.tasks.get(taskId), "Task not found");

/** Reports the status that a task has just entered and emits its event. */
export function notifyTaskChange(world: World, task: TaskRecord, withinRetryGrace: boolean): void {
  if (world.hasSubscribers) {
    const { id, workspaceId, clientId, type, status } = task;
    world.emit({ type: "task.changed", taskId: id, workspaceId, clientId, taskType: type, status });
  }
  emitTaskEvent(world, task, withinRetryGrace);
}

function notifyStageChange(world: World, task: TaskRecord, stage: StageRecord): void {
  const { id, type, status } = stage;
  world.emit({ type: "stage.changed", taskId: task.id, subTaskId: id, subTaskType: type, status });
}
