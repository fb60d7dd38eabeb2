import { createClient, type WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { listTasksResponse } from "./sample-query.ts";

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
