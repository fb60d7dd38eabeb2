import { describe, expect, it } from "vitest";
import type { VirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import type { RateLimitStore } from "../../../../sdk/rate-limit/shared-permits.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import {
  busiestWindow,
  createEngineFixture,
  openEngine,
  probe,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService, seeded } from "../../../support/fake-service.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import { memoryRateLimitStore } from "./memory-rate-limit-store.ts";

const minuteMs = 60_000;

describe("clients of one process", () => {
  it("clients of one process have separate rate limits for different addresses", async () => {
    const a = createFakeService();
    const b = createFakeService({ clock: a.clock });
    for (const service of [a, b]) {
      const engine = openEngine(service);
      const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
      await service.clock.advance(5_000);
      await Promise.all(calls);
    }
    expect([a.log.accepted, b.log.accepted]).toEqual([120, 120]);
  });

  it("clients with another rateLimit have limits of their own, and share all else than maxQueued", async () => {
    const service = createFakeService();
    const engines = [{}, { requests: 30 }, { maxQueued: 1 }].map((rateLimit) =>
      openEngine(service, { rateLimit }),
    );
    for (const engine of engines) {
      const call = engine.execute(probe.query, {});
      await service.clock.advance(1_000);
      await call;
    }
    const snapshots = engines.map((engine) => engine.rateLimitSnapshot());
    expect(snapshots.map((each) => each && [each.limit, each.used])).toEqual([
      [120, 2],
      [30, 1],
      [120, 2],
    ]);
  });

  it.each([
    ["of the process", () => undefined],
    ["of a store", (clock: VirtualClock) => memoryRateLimitStore(clock, () => 5)],
  ])("the limit %s is that of the key on both routers, with one queue", async (_, storeOf) => {
    const service = createFakeService();
    const { clock, apiKey: partnerApiKey, baseUrl: gatewayUrl } = service;
    const rateLimit = { store: storeOf(clock) };
    const exchange = { loginViaPersonalApiToken: { accessToken: "partner-token" } };
    let requests = 0;
    const fetch: Fetch = async (_, init) => {
      const { operationName } = JSON.parse(String(init.body));
      if (operationName === "LoginPartner") return Response.json({ data: exchange });
      if (operationName !== "ExchangeApiKey") requests += 1;
      return operationName === "ExchangeApiKey" ? service.fetch(_, init) : Response.json({ data: {} });
    };
    const engine = openEngine(service, { gatewayUrl, partnerApiKey, rateLimit, fetch });
    const calls = Array.from({ length: 200 }, (_, index) =>
      engine.execute({ ...probe.query, router: index % 2 === 0 ? "base" : "gateway" }, {}),
    );
    await clock.advance(5_000);
    expect(requests).toBe(120);
    expect(engine.rateLimitSnapshot("base")).toMatchObject({ used: 120, queued: 80 });
    expect(engine.rateLimitSnapshot("gateway")).toEqual(engine.rateLimitSnapshot("base"));
    await clock.advance(2 * minuteMs);
    await Promise.all(calls);
  });

  it("a client keeps its limiter although limiters of idle keys are dropped when another key is used", async () => {
    const service = createFakeService();
    const { clock } = service;
    const engines = [1, 2].map((seed) => openEngine(service, { random: seeded(seed) }));
    const call = (count: number) =>
      engines.flatMap((engine) => Array.from({ length: count }, () => engine.execute(probe.query, {})));
    const before = call(1);
    await clock.advance(2 * minuteMs);
    await Promise.all(before);
    const useAnotherKey = async () => {
      const elsewhere = openEngine(createFakeService({ clock })).execute(probe.query, {});
      await clock.advance(1_000);
      await elsewhere;
    };
    await useAnotherKey();
    const calls = call(60);
    await clock.advance(5_000);
    // The limiter of this key is not idle now.
    await useAnotherKey();
    calls.push(...call(60));
    await clock.advance(3 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 242, rejected429: 0 });
    expect(busiestWindow(service.log.acceptedAtMs)).toBeLessThanOrEqual(120);
  });

  it("clients of one process count the requests of a client that was closed", async () => {
    const { service, engine } = createEngineFixture();
    const first = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(5_000);
    await Promise.all(first);
    await engine.close();
    const { clock } = service;
    const call = openEngine(service).execute(probe.query, {});
    await clock.advance(30_000);
    expect(service.log).toMatchObject({ accepted: 120, rejected429: 0 });
    await clock.advance(31_000);
    await call;
    expect(service.log.accepted).toBe(121);
  });
});

describe("clients of one key with a rate limit store", () => {
  it("share its limit, whatever store other clients have or had", async () => {
    const service = createFakeService();
    const { clock } = service;
    const [store, other] = [memoryRateLimitStore(clock, () => 5), memoryRateLimitStore(clock, () => 5)];
    const run = async (engine: TestEngine, count: number) => {
      const calls = Array.from({ length: count }, () =>
        codeOf(engine.execute(probe.query, {}, { deadlineMs: 5_000 })),
      );
      await clock.advance(10_000);
      return (await Promise.all(calls)).filter((code) => code === "no error").length;
    };
    const open = (each: RateLimitStore) => openEngine(service, { rateLimit: { store: each } });
    const first = open(store);
    expect(await run(first, 80)).toBe(80);
    expect(await run(open(store), 80)).toBe(40);
    await first.close();
    expect(await run(open(other), 1)).toBe(0);
    await clock.advance(minuteMs);
    expect(await run(open(other), 1)).toBe(1);
  });
});

describe("a block by the service", () => {
  function blocked(retryAfter: string) {
    let isBlocked = true;
    const requests: number[] = [];
    const respond: Fetch = async () => {
      requests.push(clock.monotonic());
      if (!isBlocked) return Response.json({ data: {} });
      return new Response("", { status: 429, headers: { "retry-after": retryAfter } });
    };
    const service = createFakeService({ respond });
    const { clock } = service;
    const open = () => openEngine(service, { deadlineMs: undefined });
    return { clock, open, requests, unblock: () => (isBlocked = false) };
  }

  it("outlives the client that received it", async () => {
    const { clock, open, requests, unblock } = blocked("40");
    const first = open();
    const failure = failureOf(first.execute(probe.query, {}, { deadlineMs: 20_000 }));
    await clock.advance(100);
    expect(await failure).toMatchObject({ code: "RATE_LIMITED", attempts: 1 });
    await first.close();
    unblock();
    await clock.advance(30_000);
    const call = open().execute(probe.query, {});
    await clock.advance(9_000);
    expect(requests).toHaveLength(1);
    await clock.advance(2_000);
    await call;
    expect(requests).toHaveLength(2);
  });

  it.each(["86400", "1000000000", "Thu, 01 Jan 2099 00:00:00 GMT"])(
    "with Retry-After: %s fails a call at once, and one request per five windows asks again",
    async (retryAfter) => {
      const { clock, open, requests, unblock } = blocked(retryAfter);
      const engine = open();
      const failure = failureOf(engine.execute(probe.mutation, { ref: "m" }));
      await clock.advance(100);
      expect(await failure).toMatchObject({ code: "RATE_LIMITED", outcome: "rejected", attempts: 1 });
      expect((await failure).retryAfterMs).toBeGreaterThanOrEqual(86_400_000);
      for (let seconds = 0; seconds < 150; seconds += 10) {
        expect(await codeOf(engine.execute(probe.query, {}))).toBe("RATE_LIMIT_WAIT_EXCEEDED");
        await clock.advance(10_000);
      }
      expect(requests).toHaveLength(1);
      unblock();
      await clock.advance(160_000);
      const call = codeOf(engine.execute(probe.query, {}));
      await clock.advance(1_000);
      expect(await call).toBe("no error");
    },
  );

  it("fails the waiting calls that cannot wait for its end, at once", async () => {
    const { clock, open } = blocked("200");
    const engine = open();
    await Promise.all([engine.workspaceToken(), clock.advance(100)]);
    const calls = Array.from({ length: 125 }, () =>
      failureOf(engine.execute(probe.query, {}, { deadlineMs: 100_000 })),
    );
    await clock.advance(100);
    const failures = await Promise.all(calls);
    expect(failures.filter(({ code }) => code === "RATE_LIMITED")).toHaveLength(2);
    expect(failures.filter(({ code }) => code === "RATE_LIMIT_WAIT_EXCEEDED")).toHaveLength(123);
    for (const { retryAfterMs = 0 } of failures)
      expect([200, 201]).toContain(Math.floor(retryAfterMs / 1_000));
  });

  it("that is longer than five windows is waited for by a call whose deadline is longer", async () => {
    const { clock, open, requests, unblock } = blocked("400");
    const call = open().execute(probe.query, {}, { deadlineMs: 900_000, priority: "background" });
    await clock.advance(1_000);
    unblock();
    await clock.advance(301_000);
    await call;
    expect(requests).toHaveLength(2);
  });
});
