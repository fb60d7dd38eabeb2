import type { CustomerError, TaxPrepResult } from "@workspace-tasks/events/fields";
import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { ClientTasksArgs, RequireFields, WorkspaceTasksArgs } from "../generated/resolvers.ts";
import type {
  ClientRecord,
  Progress,
  ProgressRecord,
  StageRecord,
  TaskPlan,
  TaskRecord,
  TaskStatus,
  WorkspaceRecord,
} from "../state/records.ts";
import { createTimerQueue } from "../time/timer-queue.ts";
import { type World, worldCache } from "../world/world.ts";
import { emitStageEvent, emitTaskEvent } from "./events.ts";
import {
  checkListLength,
  checkSlice,
  documentsOfClient,
  newestFirst,
  tasksOfClient,
  tasksOfWorkspace,
  timeAfter,
} from "./records.ts";
import { conflict, found, notFound } from "./service-error.ts";

/** Tasks of a workspace, newest first. Every filter must match; within one filter any value does. */
export function listWorkspaceTasks(
  world: World,
  workspace: WorkspaceRecord,
  { filters, offset, limit }: RequireFields<WorkspaceTasksArgs, "offset" | "limit">,
): TaskRecord[] {
  checkSlice(world, { offset, limit });
  const { ids, types, statuses, clientIds } = filters ?? {};
  for (const [name, values] of Object.entries(filters ?? {})) checkListLength(world, name, values);
  const [typeSet, statusSet, clientSet] = [setOf(types), setOf(statuses), setOf(clientIds)];
  return newestFirst(
    ids ? tasksById(world, ids) : tasksOfWorkspace(world, workspace.id),
    { offset, limit },
    (task) =>
      task.workspaceId === workspace.id &&
      (!typeSet || typeSet.has(task.type)) &&
      (!statusSet || statusSet.has(task.status)) &&
      (!clientSet || clientSet.has(task.clientId)),
  );
}

/** Tasks of one client, newest first. */
export function listClientTasks(
  world: World,
  client: ClientRecord,
  { type, status, triggeredBy, limit }: RequireFields<ClientTasksArgs, "limit">,
): TaskRecord[] {
  checkSlice(world, { offset: 0, limit });
  return newestFirst(
    tasksOfClient(world, client.id),
    { offset: 0, limit },
    (task) =>
      (type == null || task.type === type) &&
      (status == null || task.status === status) &&
      (triggeredBy == null || task.triggeredByUserId === triggeredBy),
  );
}

const setOf = <Value>(values: readonly Value[] | null | undefined) => (values ? new Set(values) : null);

/** Looked up, so that reconciling one task does not read all of them; in order of creation, as ids are. */
const tasksById = (world: World, ids: readonly string[]): TaskRecord[] =>
  [...new Set(ids)].toSorted().flatMap((id) => world.state.tasks.get(id) ?? []);

interface NewTask {
  readonly workspaceId: string;
  readonly clientId: string;
  /** An open set: the catalog's five, and more. */
  readonly type: string;
  readonly triggeredByUserId?: string | null | undefined;
  readonly attributes?: readonly { readonly name: string; readonly value: string }[] | undefined;
  /** How it progresses. Default: the plan of its type. */
  readonly plan?: TaskPlan | null | undefined;
}

/** @throws ServiceError `CONFLICT` when the mock can hold no further task */
export function checkTaskLimit({ state, settings }: World): void {
  const { tasksMax } = settings.bounds;
  if (state.tasks.size >= tasksMax) throw conflict(`Task limit of the mock is reached: ${tasksMax}`);
}

/**
 * Starts a task: it emits `task.running` and then follows its plan.
 * @throws ServiceError `NOT_FOUND` for a client that the workspace does not have
 */
export function startTask(world: World, input: NewTask): TaskRecord {
  checkTaskLimit(world);
  const client = world.state.clients.get(input.clientId);
  if (client?.workspaceId !== input.workspaceId) throw notFound("Client not found");
  const nowMs = world.clock.now();
  const task: TaskRecord = {
    id: world.newId("task"),
    workspaceId: input.workspaceId,
    clientId: input.clientId,
    type: input.type,
    status: "RUNNING",
    startedAtMs: nowMs,
    completedAtMs: null,
    errorMessage: null,
    attributes: input.attributes?.map(({ name, value }) => ({ name, value })) ?? noAttributes,
    stages: [],
    result: null,
    customerError: null,
    triggeredByUserId: input.triggeredByUserId ?? null,
    changes: 1,
    changedAtMs: nowMs,
  };
  world.state.tasks.set(task.id, task);
  notifyTaskChange(world, task, false);
  startProgress(world, task, input.plan ?? null);
  return task;
}

const noAttributes: TaskRecord["attributes"] = [];
Object.freeze(noAttributes);

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

interface TaskStatusInput {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** Only a task that becomes FAILED has it. Default: `Task failed`. */
  readonly errorMessage?: string | null | undefined;
  /** Only a task that becomes FAILED has it. Default: an internal error that asks to contact support. */
  readonly customerError?: CustomerError | null | undefined;
  /** Only a `TAX_PREP` that becomes COMPLETED has it. Default: generated for the client. */
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

interface StageStatusInput {
  readonly taskId: string;
  /** Free text; a running stage of this type is finished, otherwise a new one starts. */
  readonly subTaskType: string;
  readonly status: TaskStatus;
  /** Only a stage that becomes FAILED has it. Default: `Stage failed`. */
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

function startStage(world: World, task: TaskRecord, type: string): StageRecord {
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

function finishStage(
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
function notifyTaskChange(world: World, task: TaskRecord, withinRetryGrace: boolean): void {
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

/** A generated result for the client and the documents it holds. */
function draftTaxPrepResult(world: World, task: TaskRecord): TaxPrepResult {
  const client = world.state.clients.get(task.clientId);
  const taxYear = client?.taxYear ?? new Date(task.startedAtMs).getUTCFullYear() - 1;
  const returnType = client?.returnType ?? "F1040";
  const documentCount = documentsOfClient(world, task.clientId).length;
  const key = `${taxYear}/${documentCount}/${returnType}`;
  return getOrCreate(results(world), key, () => compose(returnType, taxYear, documentCount));
}

/** Tasks with equal results share one object: a result is never changed, only replaced. */
const results = worldCache(() => new Map<string, TaxPrepResult>());

function compose(returnType: string, taxYear: number, documentCount: number): TaxPrepResult {
  const reviewItems =
    documentCount > 0
      ? []
      : [
          {
            severity: "warning",
            category: "missing-document",
            description: "The client holds no source document.",
          },
        ];
  return {
    taxYear,
    returnType,
    summary: `${returnType} for ${taxYear} prepared from ${documentCount} documents.`,
    documentCount,
    extractedFormCount: documentCount,
    reviewItemCount: reviewItems.length,
    reviewItems,
  };
}

// A task that progresses by itself has one entry, replaced at each stage. Changing the task's status through the
// control API deletes it from the state, which cancels the timer.

const progressTimers = worldCache((world) => ({
  queue: createTimerQueue<Progress>({
    schedule: world.schedule,
    monotonic: world.clock.monotonic,
    isLive: (progress) => world.state.progress.get(progress.taskId) === progress,
    run: (progress) => step(world, progress),
  }),
  nextRank: 0,
}));

/** Starts the plan of a task that has just started to run. `null`: the plan of its type. */
function startProgress(world: World, task: TaskRecord, plan: TaskPlan | null): void {
  const ownPlan = plan ?? changedPlan(world, task.type);
  if (planOf(world, task, ownPlan).progression !== "manual") enterStage(world, task, ownPlan, 0);
}

/** Sets the plan of future tasks of a type; `null`: as in the settings. */
export function setTaskPlan(world: World, taskType: string, plan: TaskPlan | null): void {
  if (plan) world.state.taskPlans.set(taskType, { taskType, plan });
  else world.state.taskPlans.delete(taskType);
  world.emit({ type: "task-plan.changed", taskType, progression: planFor(world, taskType).progression });
}

/** Gives every running task the plan that it follows now: called before the plans of the settings change. */
export function keepPlansOfRunningTasks(world: World): void {
  for (const progress of world.state.progress.values()) {
    const task = world.state.tasks.get(progress.taskId);
    // The entry keeps its identity, which its timer checks.
    if (task) Object.assign(progress, { plan: planOf(world, task, progress.plan) });
  }
}

/** The plan of a task of this type that has none of its own. */
export function planFor(world: World, taskType: string): TaskPlan {
  return changedPlan(world, taskType) ?? settingsPlan(world, taskType);
}

/** The plan that the control API has set for this type; that of `*` is for types that the settings have no plan of. */
function changedPlan(world: World, taskType: string): TaskPlan | null {
  const { taskPlans } = world.state;
  const plan = taskPlans.get(taskType) ?? (hasPlan(world, taskType) ? undefined : taskPlans.get("*"));
  return plan?.plan ?? null;
}

/** The stages after the current one; none of a task that does not progress by itself. */
export function stagesAhead(world: World, task: TaskRecord): TaskPlan["stages"] {
  const progress = world.state.progress.get(task.id);
  return progress ? planOf(world, task, progress.plan).stages.slice(progress.stage + 1) : [];
}

/** When the current stage ends; `null` for a task that does not progress by itself. */
export function stageEndMs(world: World, { id }: TaskRecord): number | null {
  const progress = world.state.progress.get(id);
  return progress ? dueAtMsOf(world, progress) : null;
}

/** The positions of all tasks, for a snapshot; tasks due together are in the order in which they will progress. */
export function recordProgress(world: World): ProgressRecord[] {
  const ordered = [...world.state.progress.values()].sort((a, b) => a.rank - b.rank);
  return ordered.map((progress) => {
    const { taskId, plan, stage } = progress;
    return { taskId, plan, stage, dueAtMs: dueAtMsOf(world, progress) };
  });
}

/** Reschedules the tasks of a restored state. */
export function resumeProgress(world: World, records: readonly ProgressRecord[]): void {
  for (const { dueAtMs, ...position } of records) {
    progressTimers(world).queue.add(setProgress(world, position, dueAtMs - world.clock.now()));
  }
}

/** Ends the current stage and starts the next one, or ends the task. */
function step(world: World, progress: Progress): void {
  const task = world.state.tasks.get(progress.taskId);
  if (!task) return;
  const { stages, outcome } = planOf(world, task, progress.plan);
  const planned = stages[progress.stage];
  const stage = task.stages.findLast(({ type, status }) => type === planned?.type && status === "RUNNING");
  if (planned && stage) {
    finishStage(world, task, stage, planned.status ?? "COMPLETED", planned.errorMessage ?? null);
    if (stage.status === "FAILED") {
      setTaskStatus(world, { ...outcome, taskId: task.id, status: "FAILED", errorMessage: failureOf(stage) });
      return;
    }
  }
  const next = progress.stage + 1;
  if (next < stages.length) enterStage(world, task, progress.plan, next);
  else setTaskStatus(world, { taskId: task.id, status: "COMPLETED", ...outcome });
}

function enterStage(world: World, task: TaskRecord, plan: TaskPlan | null, stage: number): void {
  const { progression, stages } = planOf(world, task, plan);
  const planned = stages[stage];
  const progress = setProgress(world, { taskId: task.id, plan, stage }, planned?.durationMs ?? 0);
  if (planned) startStage(world, task, planned.type);
  if (progression === "immediate") step(world, progress);
  else progressTimers(world).queue.add(progress);
}

function setProgress(
  world: World,
  { taskId, plan, stage }: Pick<Progress, "taskId" | "plan" | "stage">,
  delayMs: number,
): Progress {
  const dueMs = world.clock.monotonic() + delayMs;
  const progress = { taskId, plan, stage, dueMs, rank: progressTimers(world).nextRank++ };
  world.state.progress.set(taskId, progress);
  return progress;
}

/** The time of day when the current stage ends, as the clocks are now. */
export const dueAtMsOf = (world: World, { dueMs }: Progress): number =>
  Math.round((world.clock.now() + dueMs - world.clock.monotonic()) * 1_000) / 1_000;

const planOf = (world: World, task: TaskRecord, plan: TaskPlan | null): TaskPlan =>
  plan ?? settingsPlan(world, task.type);

function settingsPlan(world: World, taskType: string): TaskPlan {
  const { plans } = world.settings.tasks;
  const plan = hasPlan(world, taskType) ? plans[taskType] : plans["*"];
  return plan ?? { progression: "manual", stages: [] };
}

/** Task types are an open set: a type may be called `constructor`, which every object has. */
const hasPlan = ({ settings }: World, taskType: string) => Object.hasOwn(settings.tasks.plans, taskType);

const failureOf = (stage: StageRecord) => `${stage.type}: ${stage.errorMessage ?? "failed"}`;
