import { createClient } from "workspace-tasks/sdk";
import { systemClock } from "../clock.ts";
import type { Measure } from "../finding.ts";
import { type Fetch, loadPeerClients } from "../peer-clients.ts";
import { answerOf, listTasksText } from "../sample-query.ts";
import { alternate, type Contender, medianOf, ratioOf, spreadOf } from "../samples.ts";
import { atLeast, atMost, number, times } from "../words.ts";

const raw = "fetch + JSON.parse";
const ours = "this SDK";
const unpaced = "this SDK, rateLimit: false";
const documentNode = "graphql-request, DocumentNode";
const variables = { limit: 20 };

export const measure: Measure = async ({ quick }) => {
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
  const contenders: readonly Contender[] = [
    { name: raw, run: repeat(() => rawCall(fetch)) },
    { name: ours, run: repeat(sdkCall(fetch, undefined)) },
    { name: unpaced, run: repeat(sdkCall(fetch, false)) },
    ...createPeers(listTasksText, fetch, { throttled: false }).map(({ name, call }) => ({
      name,
      run: repeat(() => call(variables)),
    })),
  ];
  const samples = await alternate(contenders, { rounds: quick ? 3 : 21, roundMs: quick ? 10 : 60 });
  const over = (name: string) =>
    spreadOf(
      (samples.get(name) ?? []).map(({ cpuUs }, round) => cpuUs - (samples.get(raw)?.[round]?.cpuUs ?? 0)),
    );
  return {
    title: "A call through the SDK",
    about:
      "Processor time of one call with an answer of 20 tasks (" +
      `${number(answer.length / 1_000)} KB) from a \`fetch\` in memory. The SDK's clock moves by half a second per call, so that ` +
      "it paces, and exchanges its key for a token every few minutes, as in a program that makes full use of its allowance; the peers do neither.",
    goals: [
      atMost("this SDK over raw fetch", 40, over(ours), "µs"),
      atLeast("graphql-request with a DocumentNode ÷ this SDK", 1, ratioOf(samples, ours, documentNode)),
    ],
    tables: [
      {
        columns: ["", "µs", "µs over raw fetch", "÷ this SDK"],
        rows: contenders.map(({ name }) => [
          name,
          number(medianOf(samples, name)),
          number(over(name).median),
          times(ratioOf(samples, ours, name)),
        ]),
      },
    ],
  };
};

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
