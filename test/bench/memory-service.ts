import { createClient, type WorkspaceTasksClient } from "@workspace-tasks/sdk";

type Fetch = typeof globalThis.fetch;

/** A service in memory. It responds to the key exchange, and to every other request with 20 tasks. */
export function createMemoryFetch(): Fetch {
  const tokens = { userToken: "user-token", workspaceToken: "workspace-token" };
  const exchanged = JSON.stringify({ data: { exchangeSurfaceRefreshTokenForAccessTokens: tokens } });
  const listed = listTasksResponse(20);
  return async (_input, init) =>
    new Response(String(init?.body).includes("ExchangeApiKey") ? exchanged : listed, {
      headers: { "content-type": "application/json" },
    });
}

/** A client of it whose clock moves with each request. Default: by half a second, the pace of the rate limit. */
export function createMemoryClient(rateLimit?: false, requestMs = 520): WorkspaceTasksClient {
  const fetch = createMemoryFetch();
  let elapsedMs = 0;
  return createClient({
    apiKey: "key",
    baseUrl: "http://service.localhost",
    fetch: (input, init) => {
      elapsedMs += requestMs;
      return fetch(input, init);
    },
    clock: {
      now: () => Date.UTC(2026, 0, 15, 12) + elapsedMs,
      monotonic: () => elapsedMs,
      schedule(delayMs, run) {
        const timer = setTimeout(run, delayMs);
        return () => clearTimeout(timer);
      },
    },
    rateLimit,
  });
}

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
