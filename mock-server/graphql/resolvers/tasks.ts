import type { Resolvers } from "../../generated/resolvers.ts";
import { listWorkspaceTasks } from "../../rules/tasks/task-queries.ts";
import { isoTime, isoTimeOrNull } from "../../time/iso-time.ts";

export const taskResolvers: Resolvers = {
  Workspace: {
    tasks: (workspace, args, { world }) => listWorkspaceTasks(world, workspace, args),
  },
  Task: {
    startedAt: ({ startedAtMs }) => isoTime(startedAtMs),
    completedAt: ({ completedAtMs }) => isoTimeOrNull(completedAtMs),
    subTasks: ({ stages }) => stages,
    result: ({ result, type }) => result ?? { taskType: type },
    client: ({ clientId }, _args, { world }) => world.state.clients.get(clientId) ?? null,
    triggeredBy: ({ triggeredByUserId }, _args, { world }) =>
      (triggeredByUserId && world.state.users.get(triggeredByUserId)) || null,
  },
  SubTask: {
    startedAt: ({ startedAtMs }) => isoTime(startedAtMs),
    completedAt: ({ completedAtMs }) => isoTimeOrNull(completedAtMs),
  },
  TaskResult: {
    __resolveType: (result) => ("taskType" in result ? "TaskUnknownResult" : "TaskTaxPrepResult"),
  },
};
