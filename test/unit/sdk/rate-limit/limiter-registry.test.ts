import { describe, expect, it } from "vitest";
import type { VirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import type { PostgresPool } from "../../../../sdk/rate-limit/bounded-query.ts";
import { postgresRateLimitStore } from "../../../../sdk/rate-limit/postgres-rate-limit-store.ts";
import type { RateLimitStore } from "../../../../sdk/rate-limit/rate-limit-store.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import {
  constantLegs,
  createEngineFixture,
  createTestEngine,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { seeded, withLatency } from "../../../support/latency.ts";
import { memoryRateLimitStore } from "../../../support/memory-rate-limit-store.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

const minuteMs = 60_000;

describe("clients of one process", () => {
  it("clients of one process share the rate limit of one key and address", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    const fetch = withLatency(service.fetch, clock, constantLegs(50));
    const engines = [1, 2].map((seed) =>
      createTestEngine({ apiKey, baseUrl, clock, fetch, random: seeded(seed) }),
    );
    const calls = engines.flatMap((engine) =>
      Array.from({ length: 120 }, () => engine.execute(probe.query, {})),
    );
    await clock.advance(2 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 240, rejected429: 0 });
  });

  it("clients of one process have separate rate limits for different addresses", async () => {
    const a = createFakeService();
    const b = createFakeService({ clock: a.clock });
    for (const service of [a, b]) {
      const { apiKey, baseUrl, clock, fetch } = service;
      const engine = createTestEngine({ apiKey, baseUrl, clock, fetch });
      const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
      await clock.advance(1_000);
      await Promise.all(calls);
    }
    expect([a.log.accepted, b.log.accepted]).toEqual([120, 120]);
  });

  it("clients of one process use the smaller limit when theirs differ", async () => {
    const service = createFakeService({ limit: 30 });
    const { apiKey, baseUrl, clock, fetch } = service;
    const [wide] = [120, 30].map((requests) =>
      createTestEngine({ apiKey, baseUrl, clock, fetch, rateLimit: { requests } }),
    );
    // A client's limit counts from its first call, which resolves the key.
    await Promise.all([wide?.execute(probe.query, {}), clock.advance(1_000)]);
    expect(wide?.rateLimitSnapshot()?.limit).toBe(120);
    const narrow = createTestEngine({ apiKey, baseUrl, clock, fetch, rateLimit: { requests: 30 } });
    await Promise.all([narrow.execute(probe.query, {}), clock.advance(1_000)]);
    expect(wide?.rateLimitSnapshot()?.limit).toBe(30);
    const calls = Array.from({ length: 58 }, () => wide?.execute(probe.query, {}));
    await clock.advance(2 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 60, rejected429: 0 });
  });

  it("clients of one process count the requests of a client that was closed", async () => {
    const { service, engine } = createEngineFixture();
    const first = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(first);
    await engine.close();
    const { apiKey, baseUrl, clock, fetch } = service;
    const next = createTestEngine({ apiKey, baseUrl, clock, fetch });
    const call = next.execute(probe.query, {});
    await clock.advance(30_000);
    expect(service.log).toMatchObject({ accepted: 120, rejected429: 0 });
    await clock.advance(31_000);
    await call;
    expect(service.log.accepted).toBe(121);
  });
});

describe("clients of one key with a rate limit store", () => {
  /** A store that counts its calls and fails when it is broken. */
  function countingStore(clock: VirtualClock) {
    const state = { calls: 0, isBroken: false };
    const inner = memoryRateLimitStore(clock, () => 5);
    const acquire: RateLimitStore["acquire"] = async (request) => {
      state.calls += 1;
      if (state.isBroken) throw new Error("Cannot use a pool after calling end on the pool");
      return inner.acquire(request);
    };
    return { state, store: { ...inner, acquire } };
  }

  function setUp() {
    const service = createFakeService();
    const { apiKey, baseUrl, clock, fetch } = service;
    const open = (store?: RateLimitStore) =>
      createTestEngine({ apiKey, baseUrl, clock, fetch, maxRetries: 0, rateLimit: { store } });
    const run = async (engine: TestEngine) => {
      const code = codeOf(engine.execute(probe.query, {}));
      await clock.advance(1_000);
      return code;
    };
    return { ...countingStore(clock), clock, open, run };
  }

  it("share it when it is the same", async () => {
    const { open, run, store, state } = setUp();
    expect(await run(open(store))).toBe("no error");
    expect(await run(open(store))).toBe("no error");
    expect(state.calls).toBe(2);
  });

  it.each(["the second has none", "the first has none", "both have one"] as const)(
    "get a configuration error when theirs differ (%s)",
    async (which) => {
      const { open, run, store, clock } = setUp();
      const other = countingStore(clock);
      expect(await run(open(which === "the first has none" ? undefined : store))).toBe("no error");
      const second = open(
        { "the second has none": undefined, "the first has none": store, "both have one": other.store }[
          which
        ],
      );
      const failure = failureOf(second.execute(probe.query, {}));
      await clock.advance(1_000);
      expect(await failure).toMatchObject({ name: "ConfigurationError", outcome: "not_sent", attempts: 0 });
      expect((await failure).message).toContain("rateLimit.store: expected the store of the other clients");
      expect(other.state.calls).toBe(0);
    },
  );

  it("do not inherit the store of a closed client, only the requests that it counted", async () => {
    const { open, run, store, state, clock } = setUp();
    const first = open(store);
    expect(await run(first)).toBe("no error");
    await Promise.all([first.close(), clock.advance(1_000)]);
    state.isBroken = true;
    const calls = state.calls;
    const next = countingStore(clock);
    const second = open(next.store);
    expect(await run(second)).toBe("no error");
    expect([state.calls, next.state.calls]).toEqual([calls, 1]);
    expect(second.rateLimitSnapshot()?.used).toBe(2);
  });

  it("acquire slots for as long as the longest request of any of them may take", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock, fetch } = service;
    const leases: number[] = [];
    const inner = memoryRateLimitStore(clock, () => 5);
    const acquire: RateLimitStore["acquire"] = (request) => {
      leases.push(request.leaseMs);
      return inner.acquire(request);
    };
    const store = { ...inner, acquire };
    for (const timeoutMs of [5_000, 90_000, 10_000]) {
      const engine = createTestEngine({ apiKey, baseUrl, clock, fetch, timeoutMs, rateLimit: { store } });
      await Promise.all([engine.execute(probe.query, {}), clock.advance(1_000)]);
    }
    expect(leases).toEqual([65_000, 150_000, 150_000]);
  });

  it("created twice for one pool are the same store", () => {
    const pool: PostgresPool = { connect: () => Promise.reject(new Error("not used")) };
    expect(postgresRateLimitStore(pool)).toBe(postgresRateLimitStore(pool, { queryTimeoutMs: 4_000 }));
    expect(postgresRateLimitStore(pool)).not.toBe(postgresRateLimitStore(pool, { schema: "other" }));
    expect(postgresRateLimitStore(pool)).not.toBe(postgresRateLimitStore({ ...pool }));
  });
});

describe("a block by the service", () => {
  function blocked(retryAfter: string) {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    let isBlocked = true;
    const requests: number[] = [];
    const fetch: Fetch = async (input, init) => {
      if (String(init?.body).includes("ExchangeApiKey")) return service.fetch(input, init);
      requests.push(clock.monotonic());
      if (!isBlocked) return service.fetch(input, init);
      return new Response("", { status: 429, headers: { "retry-after": retryAfter } });
    };
    const open = () => createTestEngine({ apiKey, baseUrl, clock, fetch, deadlineMs: undefined });
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
    const codes = (await Promise.all(calls)).map(({ code }) => code);
    expect(codes.filter((code) => code === "RATE_LIMITED")).toHaveLength(120);
    expect(codes.filter((code) => code === "RATE_LIMIT_WAIT_EXCEEDED")).toHaveLength(5);
  });
});

describe("processes with a share of the rate limit", () => {
  it("processes stay within the limit together, four with a quarter each", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    const engines = [0, 1, 2, 3].map((seed) => {
      // A clock of its own makes it another process: limiters of different clocks are independent.
      const own = { ...clock };
      const fetch = withLatency(service.fetch, own, constantLegs(80));
      return createTestEngine({
        apiKey,
        baseUrl,
        clock: own,
        fetch,
        random: seeded(seed),
        rateLimit: { share: 0.25 },
      });
    });
    const calls = engines.flatMap((engine) =>
      Array.from({ length: 90 }, () => engine.execute(probe.query, {})),
    );
    await clock.advance(4 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 360, rejected429: 0 });
  });
});
