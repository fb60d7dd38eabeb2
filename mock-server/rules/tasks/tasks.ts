import type { TaskRecord } from "../../state/records.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import type { World } from "../../world/world.ts";
import { conflict, notFound } from "../service-error.ts";
import { startProgress } from "./progression.ts";
import { notifyTaskChange } from "./task-status.ts";

export interface NewTask {
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
