import { createClient } from "workspace-tasks/sdk";
import { systemClock } from "../clock.ts";
import type { Contender } from "../contender.ts";
import { type Fetch, loadPeerClients } from "../peer-clients.ts";
import { answerOf, listTasksText } from "../sample-query.ts";

const variables = { limit: 20 };

/** One call each, with a `fetch` that answers from memory. */
export async function contenders(): Promise<readonly Contender[]> {
  const answer = answerOf(20);
  const fetch: Fetch = async (_input, init) => {
    const isExchange = String(init?.body).includes("ExchangeApiKey");
    return new Response(isExchange ? exchangeAnswer() : answer, {
      headers: { "content-type": "application/json" },
    });
  };
  // @linear/sdk uses the global one.
  globalThis.fetch = fetch;
  const createPeers = await loadPeerClients();
  return [
    { name: "fetch + JSON.parse", run: repeat(() => rawCall(fetch)) },
    { name: "this SDK", run: repeat(sdkCall(fetch, undefined)) },
    { name: "this SDK, rateLimit: false", run: repeat(sdkCall(fetch, false)) },
    ...createPeers(listTasksText, fetch, { throttled: false }).map(({ name, call }) => ({
      name,
      run: repeat(() => call(variables)),
    })),
  ];
}

async function rawCall(fetch: Fetch): Promise<unknown> {
  const response = await fetch("http://service.localhost/graphql", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer token" },
    body: JSON.stringify({ query: listTasksText, variables }),
  });
  return JSON.parse(await response.text());
}

function sdkCall(fetch: Fetch, rateLimit: false | undefined): () => Promise<unknown> {
  let elapsedMs = 0;
  const client = createClient({
    apiKey: "key",
    baseUrl: "http://service.localhost",
    fetch: (input, init) => {
      elapsedMs += 520;
      return fetch(input, init);
    },
    clock: { ...systemClock, now: () => startMs + elapsedMs, monotonic: () => elapsedMs },
    rateLimit,
  });
  return () => client.request(listTasksText, variables);
}

const startMs = Date.UTC(2026, 0, 15, 12);

function exchangeAnswer(): string {
  const tokens = { userToken: "user-token", workspaceToken: "workspace-token" };
  return JSON.stringify({ data: { exchangeSurfaceRefreshTokenForAccessTokens: tokens } });
}

const repeat = (call: () => Promise<unknown>) => async (count: number) => {
  for (let done = 0; done < count; done++) await call();
};
