import { createClient } from "workspace-tasks/sdk";
import { createFakeService, type FakeService } from "../../test/support/fake-service.ts";
import type { Goal, Measure } from "../finding.ts";
import { loadPeer } from "../peer.ts";
import { type Fetch, loadPeerClients } from "../peer-clients.ts";
import { number } from "../words.ts";

type FakeTime = { next(): number; countTimers(): number };
type Outcome = {
  readonly name: string;
  readonly window: string;
  readonly ok: number;
  readonly failed: number;
  readonly refused: number;
  readonly seconds: number;
  readonly share: number;
};

const text = "query Probe { __typename }";
const ours = "this SDK";
const roundTripMs = 100;
const turn = setImmediate;

export const measure: Measure = async ({ quick }) => {
  const createPeers = await loadPeerClients();
  // Installed after everything is loaded, and for the rest of this process.
  const time = (await loadPeer<{ fakeTime(): FakeTime }>("fake-time")).fakeTime();
  const names = [ours, ...createPeers(text, globalThis.fetch).map(({ name }) => name)].filter(
    (name) => name !== "graphql-request, text",
  );
  const outcomes: Outcome[] = [];
  for (const calls of quick ? [360] : [360, 600]) {
    for (const window of ["sliding", "fixed"] as const) {
      for (const name of names) outcomes.push(await burst(time, createPeers, { name, calls, window }));
    }
  }
  return {
    title: "Bursts against the allowance",
    about:
      "So many calls at once, in virtual time, against a service that takes 120 requests in 60 s and is 100 ms away. What the service refused " +
      "with 429, what the caller got, when the last call was settled, and how fast that is compared with a client that wastes nothing of the allowance.",
    goals: outcomes.filter(({ name }) => name === ours).flatMap(goalsOf),
    tables: [
      {
        columns: [
          "calls, window",
          "client",
          "answered",
          "failed",
          "429s",
          "virtual seconds",
          "of the allowance",
        ],
        rows: outcomes.map(({ name, window, ok, failed, refused, seconds, share }) => [
          `${ok + failed}, ${window}`,
          name,
          String(ok),
          String(failed),
          String(refused),
          number(seconds),
          failed > 0 ? "–" : `${number(share * 100)} %`,
        ]),
      },
    ],
    notes: [
      "The peers are not made for this service's limit, which is the point: a limiter has to know the allowance. Octokit's spaces calls a second apart; OpenAI's and Shopify's clients repeat what was refused; graphql-request and Linear's client leave it to the caller.",
    ],
  };
};

function goalsOf({ window, ok, failed, refused, share }: Outcome): readonly Goal[] {
  const what = `${ok + failed} calls, ${window} window`;
  return [
    {
      what: `${what}: 429s and failures`,
      target: "0",
      measured: String(refused + failed),
      met: refused + failed === 0,
    },
    {
      what: `${what}: share of the allowance`,
      target: "≥ 99 %",
      measured: `${number(share * 100)} %`,
      met: share >= 0.99,
    },
  ];
}

async function burst(
  time: FakeTime,
  createPeers: Awaited<ReturnType<typeof loadPeerClients>>,
  { name, calls, window }: { name: string; calls: number; window: "sliding" | "fixed" },
): Promise<Outcome> {
  const service = createFakeService({
    window,
    // Most peers renew no token.
    tokenTtlSeconds: 86_400,
    clock: clockOfProcess as NonNullable<Parameters<typeof createFakeService>[0]>["clock"] & object,
  });
  const call = await callerOf(name, service, createPeers);
  const startedAt = performance.now();
  let settledAt = startedAt;
  let ok = 0;
  let failed = 0;
  const all = Array.from({ length: calls }, () =>
    call()
      .then(
        () => ok++,
        () => failed++,
      )
      .then(() => {
        settledAt = performance.now();
      }),
  );
  await settle(time, () => ok + failed === calls);
  await Promise.all(all);
  const seconds = (settledAt - startedAt) / 1_000;
  const idealSeconds = (Math.ceil(calls / 120) - 1) * 60 + roundTripMs / 1_000;
  return {
    name,
    window,
    ok,
    failed,
    refused: service.books.refused429,
    seconds,
    share: idealSeconds / seconds,
  };
}

async function callerOf(
  name: string,
  service: FakeService,
  createPeers: Awaited<ReturnType<typeof loadPeerClients>>,
): Promise<() => Promise<unknown>> {
  const away =
    (fetch: Fetch): Fetch =>
    async (input, init) => {
      await pause(roundTripMs / 2);
      const response = await fetch(input, init);
      await pause(roundTripMs / 2);
      return response;
    };
  const plain = service.fetch as Fetch;
  if (name === ours) {
    const client = createClient({
      apiKey: service.apiKey,
      baseUrl: service.baseUrl,
      fetch: away(plain) as never,
    });
    return () => client.request(text);
  }
  const token = await tokenOf(service);
  const authorized: Fetch = (input, init) =>
    plain(input, { ...init, headers: { authorization: `Bearer ${token}` } });
  globalThis.fetch = away(authorized);
  const peer = createPeers(text, globalThis.fetch).find((each) => each.name === name);
  if (!peer) throw new Error(`no client ${name}`);
  return () => peer.call({});
}

async function tokenOf(service: FakeService): Promise<string> {
  const response = await service.fetch(service.baseUrl, {
    body: JSON.stringify({
      operationName: "ExchangeApiKey",
      query: "",
      variables: { refreshToken: service.apiKey },
    }),
  });
  const { data } = (await response.json()) as {
    data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: string } };
  };
  return data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;
}

/** Whatever is installed at the time of the call. */
const clockOfProcess = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs: number, run: () => void) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Moves from timer to timer; what one timer sets off has settled before the next is due. */
async function settle(time: FakeTime, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    for (let turns = 0; turns < 8; turns++) await new Promise((resolve) => turn(resolve));
    if (isDone()) return;
    if (time.countTimers() === 0) throw new Error("calls wait although no timer is left");
    time.next();
  }
}
