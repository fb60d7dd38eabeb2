import { perWorld } from "../per-world.ts";
import type { ProgressRecord, StageRecord, TaskRecord } from "../state/records.ts";
import type { World } from "../world.ts";
import { type Agenda, createAgenda } from "./agenda.ts";
import { finishStage, moveTask, startStage } from "./task-moves.ts";
import type { TaskPlan } from "./task-plan.ts";

// A task that moves by itself has one record of where it stands and one entry on the agenda, whatever the
// number of its stages. An entry whose task has meanwhile been moved by hand finds its record gone, or
// replaced, and does nothing.

const agendaOf = perWorld(
  (world): Agenda<ProgressRecord> =>
    createAgenda(world, (progress) => {
      if (world.state.progress.get(progress.taskId) === progress) step(world, progress);
    }),
);

/** Sets a task that has just started to run on its way. `null`: by the plan of its type. */
export function beginProgress(world: World, task: TaskRecord, plan: TaskPlan | null): void {
  const ownPlan = plan ?? world.state.taskPlans.get(task.type)?.plan ?? null;
  const progress = { taskId: task.id, plan: ownPlan, stage: 0, dueAtMs: world.clock.now() };
  const { mode, stages } = planOf(world, task, progress);
  if (mode === "manual") return;
  world.state.progress.set(task.id, progress);
  const first = stages[0];
  if (first) startStage(world, task, first.type);
  waitForStage(world, task, progress);
}

/** Decides how tasks of a type move on from now on; `null`: as the settings say. */
export function planTasks(world: World, taskType: string, plan: TaskPlan | null): void {
  if (plan) world.state.taskPlans.set(taskType, { taskType, plan });
  else world.state.taskPlans.delete(taskType);
  world.announce({ type: "task-plan.changed", taskType, mode: planFor(world, taskType).mode });
}

/** How a task of this type moves on unless it has a plan of its own. */
export function planFor(world: World, taskType: string): TaskPlan {
  return world.state.taskPlans.get(taskType)?.plan ?? settledPlan(world, taskType);
}

/** What a task that moves by itself has before it: when its stage ends, and the stages after that one. */
export type Outlook = { readonly dueAtMs: number; readonly stages: TaskPlan["stages"] };

/** `null` for a task that waits to be told. */
export function outlookOf(world: World, task: TaskRecord): Outlook | null {
  const progress = world.state.progress.get(task.id);
  if (!progress) return null;
  const { stages } = planOf(world, task, progress);
  return { dueAtMs: progress.dueAtMs, stages: stages.slice(progress.stage + 1) };
}

/** Sets the tasks of a restored state going again. */
export function rearmProgress(world: World): void {
  const nowMs = world.clock.now();
  for (const progress of world.state.progress.values()) {
    agendaOf(world).add(progress.dueAtMs - nowMs, progress);
  }
}

/** The stage under way has had its time: it ends, and the next one begins or the task ends. */
function step(world: World, progress: ProgressRecord): void {
  const task = world.state.tasks.get(progress.taskId);
  if (!task) return;
  const { stages, outcome } = planOf(world, task, progress);
  const planned = stages[progress.stage];
  const stage = task.stages.findLast(({ type, status }) => type === planned?.type && status === "RUNNING");
  if (planned && stage) {
    finishStage(world, task, stage, planned.status ?? "COMPLETED", planned.errorMessage ?? null);
    if (stage.status === "FAILED") {
      moveTask(world, { ...outcome, taskId: task.id, status: "FAILED", errorMessage: failureOf(stage) });
      return;
    }
  }
  const next = stages[++progress.stage];
  if (!next) {
    moveTask(world, { taskId: task.id, status: "COMPLETED", ...outcome });
    return;
  }
  startStage(world, task, next.type);
  waitForStage(world, task, progress);
}

function waitForStage(world: World, task: TaskRecord, progress: ProgressRecord): void {
  const { mode, stages } = planOf(world, task, progress);
  if (mode === "immediate") {
    step(world, progress);
    return;
  }
  const delayMs = stages[progress.stage]?.durationMs ?? 0;
  progress.dueAtMs = world.clock.now() + delayMs;
  agendaOf(world).add(delayMs, progress);
}

const planOf = (world: World, task: TaskRecord, progress: ProgressRecord): TaskPlan =>
  progress.plan ?? settledPlan(world, task.type);

function settledPlan(world: World, taskType: string): TaskPlan {
  const { plans } = world.settings.tasks;
  return plans[taskType] ?? plans["*"] ?? { mode: "manual", stages: [] };
}

const failureOf = (stage: StageRecord) => `${stage.type}: ${stage.errorMessage ?? "failed"}`;
