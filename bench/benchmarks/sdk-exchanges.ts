import { createClient } from "workspace-tasks/sdk";
import { createFakeService, type FakeService } from "../../test/support/fake-service.ts";
import { type Legs, withLatency } from "../../test/support/latency.ts";
import { type Benchmark, cellOf, type Goal, type Result } from "../benchmark.ts";
import { exchangeKey } from "../exchange-key.ts";
import { goal } from "../format.ts";

const text = "query Probe { __typename }";
const legs = (): Legs => ({ forwardMs: 50, backwardMs: 50 });

type Call = () => Promise<unknown>;

interface Outcome {
  readonly exchanges: number;
  readonly failed: number;
}

const ours = "this SDK";
const clients: Readonly<Record<string, (service: FakeService) => Call>> = {
  [ours]: sdkCall,
  "token cached, dropped at every rejection": cachingCall,
  "token exchanged for every call": exchangingCall,
};

/** The time between two calls, and how many exchanges the SDK may need. */
const scenarios = [
  { column: "cold burst", what: "exchanges of a cold burst of 200", calls: 200, everyMs: 0, max: 1 },
  {
    column: "revocation",
    what: "exchanges after a revocation",
    calls: 100,
    everyMs: 7,
    max: 1,
    revokeAtMs: 350,
  },
  { column: "an hour", what: "exchanges in an hour of 2 calls/s", calls: 7_200, everyMs: 500, max: 25 },
];

export const benchmark: Benchmark = {
  title: "Token exchanges",
  question: "How many token exchanges do 200 concurrent first calls need?",
  answer: (result) =>
    `${cellOf(result, ours, "cold burst")}; after a revocation during 100 calls ${cellOf(result, ours, "revocation")}`,
  about:
    "Token exchanges in virtual time, with 100 ms of latency and tokens of 180 s: 200 concurrent calls of a new client; a token revoked during 100 calls " +
    "over 700 ms; one hour with two calls per second. Compared with hand-written ways.",
  measure,
};

async function measure(): Promise<Result> {
  const rows: string[][] = [];
  const goals: Goal[] = [];
  for (const [name, createCall] of Object.entries(clients)) {
    const row = [name];
    for (const scenario of scenarios) {
      const { exchanges, failed } = await run(scenario, createCall);
      row.push(`${exchanges}${failed > 0 ? `, ${failed} calls fail` : ""}`);
      if (name !== ours) continue;
      goals.push(
        goal(
          scenario.what,
          `≤ ${scenario.max}, no call fails`,
          `${exchanges}, ${failed} calls fail`,
          exchanges <= scenario.max && failed === 0,
        ),
      );
    }
    rows.push(row);
  }
  return { goals, tables: [{ columns: ["", ...scenarios.map(({ column }) => column)], rows }] };
}

async function run(
  { calls, everyMs, revokeAtMs }: (typeof scenarios)[number],
  createCall: (service: FakeService) => Call,
): Promise<Outcome> {
  const service = createFakeService({ limit: 1_000_000 });
  const call = createCall(service);
  const { clock, log } = service;
  if (revokeAtMs !== undefined) {
    const first = call();
    await clock.advance(1_000);
    await first;
    clock.schedule(revokeAtMs, () => service.revokeTokens());
  }
  const before = log.exchanges;
  let failed = 0;
  for (let index = 0; index < calls; index++) {
    clock.schedule(index * everyMs, () => void call().catch(() => failed++));
  }
  await clock.advance(calls * everyMs + 10_000);
  return { exchanges: log.exchanges - before, failed };
}

function sdkCall(service: FakeService): Call {
  const { apiKey, baseUrl, clock } = service;
  const fetch = withLatency(service.fetch, clock, legs);
  const client = createClient({ apiKey, baseUrl, clock, fetch, rateLimit: { requests: 1_000_000 } });
  return () => client.request(text);
}

function cachingCall(service: FakeService): Call {
  let cached: Promise<string> | undefined;
  return async () => {
    for (let attempt = 1; ; attempt++) {
      cached ??= exchange(service);
      if (await isAccepted(service, await cached)) return;
      if (attempt > 1) throw new Error("rejected twice");
      cached = undefined;
    }
  };
}

function exchangingCall(service: FakeService): Call {
  return async () => {
    if (!(await isAccepted(service, await exchange(service)))) throw new Error("rejected");
  };
}

function exchange({ fetch, clock, baseUrl, apiKey }: FakeService): Promise<string> {
  return exchangeKey(withLatency(fetch, clock, legs), baseUrl, apiKey);
}

async function isAccepted({ fetch, clock, baseUrl }: FakeService, token: string): Promise<boolean> {
  const response = await withLatency(
    fetch,
    clock,
    legs,
  )(baseUrl, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: text }),
  });
  const { errors } = (await response.json()) as { errors?: unknown };
  return errors === undefined;
}
