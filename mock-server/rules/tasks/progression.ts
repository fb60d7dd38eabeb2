import type { Progress, ProgressRecord, StageRecord, TaskRecord } from "../../state/records.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import { createTimerQueue } from "../../time/timer-queue.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { finishStage, moveTask, startStage } from "./task-moves.ts";

// A task that moves by itself has one record of where it stands, which is also its entry on the agenda and
// is made anew at each stage. Once the task has been moved by hand its record is gone from the state, and
// the entry has been called off.

const engineOf = worldCache((world) => ({
  timers: createTimerQueue<Progress>({
    schedule: world.schedule,
    monotonic: world.clock.monotonic,
    isLive: (progress) => world.state.progress.get(progress.taskId) === progress,
    run: (progress) => step(world, progress),
  }),
  entries: 0,
}));

/** Sets a task that has just started to run on its way. `null`: by the plan of its type. */
export function beginProgress(world: World, task: TaskRecord, plan: TaskPlan | null): void {
  const ownPlan = plan ?? world.state.taskPlans.get(task.type)?.plan ?? null;
  if (planOf(world, task, ownPlan).mode !== "manual") enterStage(world, task, ownPlan, 0);
}

/** Decides how tasks of a type move on from now on; `null`: as the settings say. */
export function planTasks(world: World, taskType: string, plan: TaskPlan | null): void {
  if (plan) world.state.taskPlans.set(taskType, { taskType, plan });
  else world.state.taskPlans.delete(taskType);
  world.emit({ type: "task-plan.changed", taskType, mode: planFor(world, taskType).mode });
}

/** How a task of this type moves on unless it has a plan of its own. */
export function planFor(world: World, taskType: string): TaskPlan {
  return world.state.taskPlans.get(taskType)?.plan ?? settledPlan(world, taskType);
}

/** What a task that moves by itself has before it: when its stage ends, and the stages after that one. */
export type UpcomingStages = { readonly dueAtMs: number; readonly stages: TaskPlan["stages"] };

/** `null` for a task that waits to be told. */
export function upcomingStages(world: World, task: TaskRecord): UpcomingStages | null {
  const progress = world.state.progress.get(task.id);
  if (!progress) return null;
  const { stages } = planOf(world, task, progress.plan);
  return { dueAtMs: dueAtMsOf(world, progress), stages: stages.slice(progress.stage + 1) };
}

/** Where all tasks stand, for a snapshot; in the order in which those that are due together will go on. */
export function recordProgress(world: World): ProgressRecord[] {
  const inTurn = [...world.state.progress.values()].sort((a, b) => a.rank - b.rank);
  return inTurn.map((progress) => {
    const { taskId, plan, stage } = progress;
    return { taskId, plan, stage, dueAtMs: dueAtMsOf(world, progress) };
  });
}

/** Sets the tasks of a restored state going again. */
export function resumeProgress(world: World, records: readonly ProgressRecord[]): void {
  for (const { dueAtMs, ...place } of records) {
    engineOf(world).timers.add(keepProgress(world, place, dueAtMs - world.clock.now()));
  }
}

/** The stage under way has had its time: it ends, and the next one begins or the task ends. */
function step(world: World, progress: Progress): void {
  const task = world.state.tasks.get(progress.taskId);
  if (!task) return;
  const { stages, outcome } = planOf(world, task, progress.plan);
  const planned = stages[progress.stage];
  const stage = task.stages.findLast(({ type, status }) => type === planned?.type && status === "RUNNING");
  if (planned && stage) {
    finishStage(world, task, stage, planned.status ?? "COMPLETED", planned.errorMessage ?? null);
    if (stage.status === "FAILED") {
      moveTask(world, { ...outcome, taskId: task.id, status: "FAILED", errorMessage: failureOf(stage) });
      return;
    }
  }
  const next = progress.stage + 1;
  if (next < stages.length) enterStage(world, task, progress.plan, next);
  else moveTask(world, { taskId: task.id, status: "COMPLETED", ...outcome });
}

function enterStage(world: World, task: TaskRecord, plan: TaskPlan | null, stage: number): void {
  const { mode, stages } = planOf(world, task, plan);
  const planned = stages[stage];
  const progress = keepProgress(world, { taskId: task.id, plan, stage }, planned?.durationMs ?? 0);
  if (planned) startStage(world, task, planned.type);
  if (mode === "immediate") step(world, progress);
  else engineOf(world).timers.add(progress);
}

function keepProgress(
  world: World,
  { taskId, plan, stage }: Pick<Progress, "taskId" | "plan" | "stage">,
  delayMs: number,
): Progress {
  const dueMs = world.clock.monotonic() + delayMs;
  const progress = { taskId, plan, stage, dueMs, rank: engineOf(world).entries++ };
  world.state.progress.set(taskId, progress);
  return progress;
}

/** The time of day when the stage under way ends, as the clocks stand now. */
export const dueAtMsOf = (world: World, { dueMs }: Progress): number =>
  Math.round(world.clock.now() + dueMs - world.clock.monotonic());

const planOf = (world: World, task: TaskRecord, plan: TaskPlan | null): TaskPlan =>
  plan ?? settledPlan(world, task.type);

function settledPlan(world: World, taskType: string): TaskPlan {
  const { plans } = world.settings.tasks;
  return plans[taskType] ?? plans["*"] ?? { mode: "manual", stages: [] };
}

const failureOf = (stage: StageRecord) => `${stage.type}: ${stage.errorMessage ?? "failed"}`;
