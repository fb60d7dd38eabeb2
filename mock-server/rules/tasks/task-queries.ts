import type { ClientRecord, TaskRecord, TaskStatus, WorkspaceRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { checkListLength, checkSlice, type Slice } from "../list-bounds.ts";

/** Every filter must match; within one filter any value does. */
export interface TaskFilters {
  readonly ids?: readonly string[] | null | undefined;
  readonly types?: readonly string[] | null | undefined;
  readonly statuses?: readonly TaskStatus[] | null | undefined;
  readonly clientIds?: readonly string[] | null | undefined;
}

export type ListTasksInput = Slice & {
  readonly filters?: TaskFilters | null | undefined;
};

/** Tasks of a workspace, newest first. */
export function listWorkspaceTasks(
  world: World,
  workspace: WorkspaceRecord,
  input: ListTasksInput,
): TaskRecord[] {
  checkSlice(world, input);
  const filters = input.filters ?? {};
  for (const [name, values] of Object.entries(filters)) checkListLength(world, name, values);
  const matches = matcher(filters);
  return newestFirst(
    candidates(world, filters),
    (task) => task.workspaceId === workspace.id && matches(task),
  ).slice(input.offset, input.offset + input.limit);
}

export interface ListClientTasksInput {
  readonly type?: string | null | undefined;
  readonly status?: TaskStatus | null | undefined;
  readonly triggeredBy?: string | null | undefined;
  readonly limit: number;
}

/** Tasks of one client, newest first. */
export function listClientTasks(
  world: World,
  client: ClientRecord,
  input: ListClientTasksInput,
): TaskRecord[] {
  const { type, status, triggeredBy, limit } = input;
  checkSlice(world, { offset: 0, limit });
  return newestFirst(
    world.state.tasks.values(),
    (task) =>
      task.clientId === client.id &&
      (type == null || task.type === type) &&
      (status == null || task.status === status) &&
      (triggeredBy == null || task.triggeredByUserId === triggeredBy),
  ).slice(0, limit);
}

/** With `ids` the tasks are looked up, so that reconciling one task does not read all of them. */
function candidates(world: World, { ids }: TaskFilters): Iterable<TaskRecord> {
  if (!ids) return world.state.tasks.values();
  return [...new Set(ids)]
    .map((id) => world.state.tasks.get(id))
    .filter((task): task is TaskRecord => task !== undefined);
}

function matcher({ types, statuses, clientIds }: TaskFilters): (task: TaskRecord) => boolean {
  const oneOf = <Value>(values: readonly Value[] | null | undefined) => (values ? new Set(values) : null);
  const [typeSet, statusSet, clientSet] = [oneOf(types), oneOf(statuses), oneOf(clientIds)];
  return (task) =>
    (!typeSet || typeSet.has(task.type)) &&
    (!statusSet || statusSet.has(task.status)) &&
    (!clientSet || clientSet.has(task.clientId));
}

function newestFirst(tasks: Iterable<TaskRecord>, matches: (task: TaskRecord) => boolean): TaskRecord[] {
  const found: TaskRecord[] = [];
  for (const task of tasks) if (matches(task)) found.push(task);
  return found.sort((a, b) => (a.id < b.id ? 1 : -1));
}
