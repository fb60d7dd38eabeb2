import { createClient } from "workspace-tasks/sdk";
import { createFakeService, type FakeService } from "../../test/support/fake-service.ts";
import { type Legs, withLatency } from "../../test/support/latency.ts";
import type { Measure } from "../finding.ts";

const text = "query Probe { __typename }";
const legs = (): Legs => ({ forwardMs: 50, backwardMs: 50 });

type Caller = () => Promise<unknown>;
type Scene = { readonly service: FakeService; readonly call: Caller };
type Outcome = { readonly exchanges: number; readonly failed: number };

const ours = "this SDK";
const makers: Readonly<Record<string, (service: FakeService) => Caller>> = {
  [ours]: sdkCaller,
  "token kept, dropped at every refusal": droppingCaller,
  "token asked for at every call": askingCaller,
};

export const measure: Measure = async () => {
  const rows: string[][] = [];
  const found = new Map<string, readonly [Outcome, Outcome, Outcome]>();
  for (const [name, make] of Object.entries(makers)) {
    const outcomes = [
      await coldBurst(scene(make)),
      await revocation(scene(make)),
      await steadyHour(scene(make)),
    ] as const;
    found.set(name, outcomes);
    rows.push([
      name,
      ...outcomes.map(({ exchanges, failed }) => `${exchanges}${failed > 0 ? `, ${failed} calls fail` : ""}`),
    ]);
  }
  const [cold, storm, hour] = found.get(ours) ?? [];
  const goal = (what: string, max: number, outcome: Outcome | undefined) => ({
    what,
    target: `≤ ${max}, no call fails`,
    measured: `${outcome?.exchanges}, ${outcome?.failed} calls fail`,
    met: outcome !== undefined && outcome.exchanges <= max && outcome.failed === 0,
  });
  return {
    title: "Token exchanges",
    about:
      "Exchanges of the key for a token that the service counts, in virtual time, 100 ms away, tokens of 180 s: 200 calls at once by a new client; " +
      "the token revoked while 100 calls are on their way over 700 ms (exchanges after the revocation); and an hour at two calls a second. Beside the SDK, two ways " +
      "it is written by hand: one exchange shared by all who wait, whose token is dropped whenever any call is refused; and none kept at all.",
    goals: [
      goal("exchanges of a cold burst of 200", 1, cold),
      goal("exchanges after a revocation", 1, storm),
      goal("exchanges in an hour of 2 calls/s", 25, hour),
    ],
    tables: [{ columns: ["", "cold burst", "revocation", "an hour"], rows }],
  };
};

function scene(make: (service: FakeService) => Caller): Scene {
  const service = createFakeService({ limit: 1_000_000 });
  return { service, call: make(service) };
}

function sdkCaller(service: FakeService): Caller {
  const { apiKey, baseUrl, clock } = service;
  const fetch = withLatency(service.fetch, clock, legs);
  const client = createClient({ apiKey, baseUrl, clock, fetch, rateLimit: { requests: 1_000_000 } });
  return () => client.request(text);
}

function droppingCaller(service: FakeService): Caller {
  let held: Promise<string> | undefined;
  return async () => {
    for (let tries = 0; ; tries++) {
      held ??= exchange(service);
      if (await probe(service, await held)) return;
      if (tries > 0) throw new Error("refused twice");
      held = undefined;
    }
  };
}

function askingCaller(service: FakeService): Caller {
  return async () => {
    if (!(await probe(service, await exchange(service)))) throw new Error("refused");
  };
}

async function exchange(service: FakeService): Promise<string> {
  const { data } = (await post(service, "", {
    operationName: "ExchangeApiKey",
    variables: { refreshToken: service.apiKey },
  })) as { data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: string } } };
  return data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;
}

async function probe(service: FakeService, token: string): Promise<boolean> {
  const { errors } = (await post(service, token, { query: text })) as { errors?: unknown };
  return errors === undefined;
}

async function post(service: FakeService, token: string, body: object): Promise<unknown> {
  const fetch = withLatency(service.fetch, service.clock, legs);
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(service.baseUrl, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

async function coldBurst({ service, call }: Scene): Promise<Outcome> {
  const calls = Array.from({ length: 200 }, () => begin(call));
  const failed = countFailed(calls);
  await service.clock.advance(10_000);
  return { exchanges: service.books.exchanges, failed: await failed };
}

async function revocation({ service, call }: Scene): Promise<Outcome> {
  const first = call();
  await service.clock.advance(1_000);
  await first;
  const before = service.books.exchanges;
  const calls: Promise<unknown>[] = [];
  for (let started = 0; started < 100; started++) {
    service.clock.schedule(started * 7, () => calls.push(begin(call)));
  }
  service.clock.schedule(350, () => service.revokeTokens());
  await service.clock.advance(10_000);
  return { exchanges: service.books.exchanges - before, failed: await countFailed(calls) };
}

async function steadyHour({ service, call }: Scene): Promise<Outcome> {
  const calls: Promise<unknown>[] = [];
  for (let atMs = 0; atMs < 3_600_000; atMs += 500) {
    service.clock.schedule(atMs, () => calls.push(begin(call)));
  }
  await service.clock.advance(3_610_000);
  return { exchanges: service.books.exchanges, failed: await countFailed(calls) };
}

/** Failures are counted at the end; until then nobody listens. */
function begin(call: Caller): Promise<unknown> {
  const called = call();
  called.catch(() => {});
  return called;
}

async function countFailed(calls: readonly Promise<unknown>[]): Promise<number> {
  const settled = await Promise.allSettled(calls);
  return settled.filter(({ status }) => status === "rejected").length;
}
