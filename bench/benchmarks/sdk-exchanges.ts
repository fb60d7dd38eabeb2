import { createClient } from "workspace-tasks/sdk";
import { createFakeService, type FakeService } from "../../test/support/fake-service.ts";
import { type Legs, withLatency } from "../../test/support/latency.ts";
import { type Benchmark, cellOf, type Goal, type Result } from "../benchmark.ts";
import { exchangeKey } from "../exchange-key.ts";

const text = "query Probe { __typename }";
const legs = (): Legs => ({ forwardMs: 50, backwardMs: 50 });

type Call = () => Promise<unknown>;

interface Trial {
  readonly service: FakeService;
  readonly call: Call;
}

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

export const benchmark: Benchmark = {
  title: "Token exchanges",
  question: "How many token exchanges do 200 concurrent first calls need?",
  answer: (result) =>
    `${cellOf(result, ours, "cold burst")}; after a revocation during 100 calls ${cellOf(result, ours, "revocation")}`,
  about:
    "Token exchanges that the service counts, in virtual time, with 100 ms of latency and tokens of 180 s: 200 concurrent calls of a new client; " +
    "a token revoked during 100 calls over 700 ms (exchanges after the revocation); and one hour with two calls per second. Compared with two " +
    "hand-written ways: one exchange shared by all waiting calls, whose token is dropped whenever any call is rejected; and one exchange per call.",
  measure,
};

async function measure(): Promise<Result> {
  const rows: string[][] = [];
  const goals: Goal[] = [];
  for (const [name, createCall] of Object.entries(clients)) {
    const outcomes = [
      await coldBurst(trialOf(createCall)),
      await revocation(trialOf(createCall)),
      await steadyHour(trialOf(createCall)),
    ] as const;
    const cells = outcomes.map(
      ({ exchanges, failed }) => `${exchanges}${failed > 0 ? `, ${failed} calls fail` : ""}`,
    );
    rows.push([name, ...cells]);
    if (name !== ours) continue;
    const [cold, revoked, hour] = outcomes;
    goals.push(
      goalOf("exchanges of a cold burst of 200", 1, cold),
      goalOf("exchanges after a revocation", 1, revoked),
      goalOf("exchanges in an hour of 2 calls/s", 25, hour),
    );
  }
  return { goals, tables: [{ columns: ["", "cold burst", "revocation", "an hour"], rows }] };
}

function goalOf(what: string, max: number, { exchanges, failed }: Outcome): Goal {
  return {
    what,
    target: `≤ ${max}, no call fails`,
    measured: `${exchanges}, ${failed} calls fail`,
    met: exchanges <= max && failed === 0,
  };
}

function trialOf(createCall: (service: FakeService) => Call): Trial {
  const service = createFakeService({ limit: 1_000_000 });
  return { service, call: createCall(service) };
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

async function coldBurst({ service, call }: Trial): Promise<Outcome> {
  const calls = Array.from({ length: 200 }, () => start(call));
  await service.clock.advance(10_000);
  return { exchanges: service.books.exchanges, failed: await countFailed(calls) };
}

async function revocation({ service, call }: Trial): Promise<Outcome> {
  const first = call();
  await service.clock.advance(1_000);
  await first;
  const before = service.books.exchanges;
  const calls: Promise<unknown>[] = [];
  for (let started = 0; started < 100; started++) {
    service.clock.schedule(started * 7, () => calls.push(start(call)));
  }
  service.clock.schedule(350, () => service.revokeTokens());
  await service.clock.advance(10_000);
  return { exchanges: service.books.exchanges - before, failed: await countFailed(calls) };
}

async function steadyHour({ service, call }: Trial): Promise<Outcome> {
  const calls: Promise<unknown>[] = [];
  for (let atMs = 0; atMs < 3_600_000; atMs += 500) {
    service.clock.schedule(atMs, () => calls.push(start(call)));
  }
  await service.clock.advance(3_610_000);
  return { exchanges: service.books.exchanges, failed: await countFailed(calls) };
}

/** Failures are counted at the end; until then they must not count as unhandled rejections. */
function start(call: Call): Promise<unknown> {
  const called = call();
  called.catch(() => {});
  return called;
}

async function countFailed(calls: readonly Promise<unknown>[]): Promise<number> {
  const settled = await Promise.allSettled(calls);
  return settled.filter(({ status }) => status === "rejected").length;
}
