import { createClient } from "@workspace-tasks/sdk";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import {
  type Benchmark,
  type Goal,
  type MeasureOptions,
  measuredFor,
  type Result,
  tableOf,
} from "../benchmark.ts";
import { systemClock } from "../clock.ts";
import { exchangeKey } from "../exchange-key.ts";
import { goal, number } from "../format.ts";
import { type CreatePeerClients, type Fetch, loadPeer, loadPeerClients } from "../load-peer.ts";

interface FakeTime {
  next(): number;
  countTimers(): number;
}

interface Burst {
  readonly name: string;
  readonly calls: number;
  readonly window: "sliding" | "fixed";
}

interface Outcome extends Burst {
  readonly failed: number;
  readonly rejected: number;
  readonly seconds: number;
  readonly share: number;
}

const text = "query Probe { __typename }";
const ours = "this SDK";
const roundTripMs = 100;
// Kept before fake timers replace it.
const realImmediate = setImmediate;

export const benchmark: Benchmark = {
  title: "Bursts against the rate limit",
  question: "Do 600 concurrent calls exceed the rate limit?",
  answer: (result) =>
    `${measuredFor(result, "600 calls, sliding window: 429s and failures")} responses with 429 or failures, at ${measuredFor(result, "600 calls, sliding window: share of the rate limit")} of the fastest rate possible`,
  about:
    "Concurrent calls in virtual time, with a limit of 120 requests in 60 s and 100 ms of latency. The last column compares with a client that uses the " +
    "rate limit to the full.",
  notes: [
    "The peers do not know the limit of this service. Octokit starts one call per second; the clients of OpenAI and Shopify retry rejected requests; graphql-request and Linear's client leave that to the caller.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const createPeers = await loadPeerClients();
  // Installed after everything is loaded, and until this process exits.
  const time = (await loadPeer<{ fakeTime(): FakeTime }>("fake-time")).fakeTime();
  const names = [ours, ...createPeers(text, globalThis.fetch).map(({ name }) => name)];
  const outcomes: Outcome[] = [];
  for (const calls of quick ? [360] : [360, 600]) {
    for (const window of ["sliding", "fixed"] as const) {
      for (const name of names) outcomes.push(await run(time, createPeers, { name, calls, window }));
    }
  }
  return {
    goals: outcomes.filter(({ name }) => name === ours).flatMap(goalsOf),
    tables: [
      tableOf(
        ["calls, window", "client", "succeeded", "failed", "429s", "virtual seconds", "of the rate limit"],
        outcomes,
        ({ calls, name, window, failed, rejected, seconds, share }) => [
          `${calls}, ${window}`,
          name,
          String(calls - failed),
          String(failed),
          String(rejected),
          number(seconds),
          failed > 0 ? "–" : `${number(share * 100)} %`,
        ],
      ),
    ],
  };
}

function goalsOf({ calls, window, failed, rejected, share }: Outcome): readonly Goal[] {
  const what = `${calls} calls, ${window} window`;
  return [
    goal(`${what}: 429s and failures`, "0", String(rejected + failed), rejected + failed === 0),
    goal(`${what}: share of the rate limit`, "≥ 99 %", `${number(share * 100)} %`, share >= 0.99),
  ];
}

async function run(time: FakeTime, createPeers: CreatePeerClients, burst: Burst): Promise<Outcome> {
  const { name, calls, window } = burst;
  const service = createFakeService({
    window,
    // Most peers do not renew a token.
    tokenTtlSeconds: 86_400,
    clock: systemClock as NonNullable<Parameters<typeof createFakeService>[0]>["clock"] & object,
  });
  const call = await createCall(name, service, createPeers);
  const startedAt = performance.now();
  let pending = calls;
  let failed = 0;
  let settledAt = startedAt;
  for (let started = 0; started < calls; started++) {
    void call()
      .catch(() => failed++)
      .then(() => {
        pending--;
        settledAt = performance.now();
      });
  }
  await runTimers(time, () => pending === 0);
  const seconds = (settledAt - startedAt) / 1_000;
  const idealSeconds = (Math.ceil(calls / 120) - 1) * 60 + roundTripMs / 1_000;
  return { ...burst, failed, rejected: service.log.rejected429, seconds, share: idealSeconds / seconds };
}

async function createCall(
  name: string,
  service: FakeService,
  createPeers: CreatePeerClients,
): Promise<() => Promise<unknown>> {
  const serviceFetch = service.fetch as Fetch;
  if (name === ours) {
    const { apiKey, baseUrl } = service;
    // The last of 600 calls is sent after four minutes.
    const client = createClient({ apiKey, baseUrl, fetch: withLatency(serviceFetch), deadlineMs: 600_000 });
    return () => client.request(text);
  }
  const token = await exchangeKey(service.fetch, service.baseUrl, service.apiKey);
  globalThis.fetch = withLatency((input, init) =>
    serviceFetch(input, { ...init, headers: { authorization: `Bearer ${token}` } }),
  );
  const peer = createPeers(text, globalThis.fetch).find((each) => each.name === name);
  if (!peer) throw new Error(`no client ${name}`);
  return () => peer.call({});
}

function withLatency(fetch: Fetch): Fetch {
  const pause = () => new Promise((resolve) => setTimeout(resolve, roundTripMs / 2));
  return async (input, init) => {
    await pause();
    const response = await fetch(input, init);
    await pause();
    return response;
  };
}

/** Moves from timer to timer; everything that one timer starts has settled before the next one runs. */
async function runTimers(time: FakeTime, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    for (let turns = 0; turns < 8; turns++) await new Promise((resolve) => realImmediate(resolve));
    if (isDone()) return;
    if (time.countTimers() === 0) throw new Error("calls are pending although no timer is left");
    time.next();
  }
}
