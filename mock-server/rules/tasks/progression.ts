// A task that progresses by itself has one entry, replaced at each stage. Changing the task's status through the
// control API deletes it from the state, which cancels the timer.

import type { Progress, ProgressRecord, StageRecord, TaskRecord } from "../../state/records.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import { createTimerQueue } from "../../time/timer-queue.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { finishStage, setTaskStatus, startStage } from "./task-status.ts";

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
export function startProgress(world: World, task: TaskRecord, plan: TaskPlan | null): void {
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
