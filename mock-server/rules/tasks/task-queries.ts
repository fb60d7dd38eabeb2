import type { ClientTasksArgs, RequireFields, WorkspaceTasksArgs } from "../../generated/resolvers.ts";
import type { ClientRecord, TaskRecord, WorkspaceRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { checkListLength, checkSlice } from "../list-bounds.ts";
import { newestFirst, tasksOfClient, tasksOfWorkspace } from "../record-groups.ts";

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
