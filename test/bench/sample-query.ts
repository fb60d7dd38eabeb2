export const listTasksText = `query ListTasks($filters: TaskFilters, $offset: Int, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        id
        tasks(filters: $filters, offset: $offset, limit: $limit) {
          id
          type
          status
          startedAt
          completedAt
          errorMessage
          subTasks { id type status startedAt completedAt errorMessage }
          client { id name }
        }
      }
    }
  }
}`;

/** The response of the service to it. */
export function listTasksResponse(taskCount: number): string {
  const tasks = Array.from({ length: taskCount }, (_, index) => ({
    id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    type: "TAX_PREP",
    status: "RUNNING",
    startedAt: "2026-01-15T12:00:00.000Z",
    completedAt: null,
    errorMessage: null,
    subTasks: [],
    client: { id: "30000000-0000-4000-8000-000000000001", name: "Client" },
  }));
  return JSON.stringify({
    data: { me: { __typename: "WorkspaceUser", workspace: { id: "workspace-1", tasks } } },
  });
}
