import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import {
  busiestWindow,
  constantLegs,
  createEngineFixture,
  createTestEngine,
  type EngineFixtureOptions,
  jitteryLegs,
} from "../../../support/engine-fixture.ts";
import { failureOf } from "../../../support/failure-of.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { seeded, withLatency } from "../../../support/latency.ts";
import { memoryRateLimitStore } from "../../../support/memory-rate-limit-store.ts";
import { probe } from "../../../support/probe-operations.ts";

const minuteMs = 60_000;

async function burst(
  count: number,
  options: EngineFixtureOptions = {},
  forMs = (count / 120 + 1) * minuteMs,
) {
  const fixture = createEngineFixture(options);
  const calls = Array.from({ length: count }, () => fixture.engine.execute(probe.query, {}));
  const settled = Promise.allSettled(calls);
  await fixture.service.clock.advance(forMs);
  const failed = (await settled).filter(({ status }) => status === "rejected");
  return { ...fixture, failed };
}

/** What was accepted as a part of the limit, from the second window on: the first is taken at once. */
function shareUsed(acceptedAtMs: readonly number[], limit: number): number {
  const sorted = [...acceptedAtMs].sort((a, b) => a - b).slice(limit);
  const first = sorted[0] ?? 0;
  const last = sorted.at(-1) ?? 0;
  return ((sorted.length - limit) * minuteMs) / (limit * (last - first));
}

describe("alone on a key", () => {
  it.each([
    [360, "sliding"],
    [360, "fixed"],
    [600, "sliding"],
    [600, "fixed"],
  ] as const)(
    "a burst of %i calls takes no 429 from a %s window and loses no call",
    async (count, window) => {
      const { service, failed } = await burst(count, { window, windowOffsetMs: 17_000 });
      expect(failed).toEqual([]);
      expect(service.books).toMatchObject({ accepted: count, refused429: 0 });
      const windowsNeeded = (count - 120) / 120;
      expect(service.books.acceptedAtMs.at(-1)).toBeLessThan(windowsNeeded * minuteMs * 1.01 + 1_000);
    },
  );

  it("control: without pacing the same burst is refused hundreds of times", async () => {
    const { service, failed } = await burst(360, { client: { rateLimit: false, maxRetries: 0 } });
    expect(service.books.refused429).toBe(240);
    expect(failed).toHaveLength(240);
  });

  it.each([5, 20, 100, 300, 1_000, 2_000])(
    "at a latency of %i ms at least 99 % of the allowance are used and nothing is refused",
    async (latencyMs) => {
      const { service } = await burst(720, { legs: constantLegs(latencyMs) });
      expect(service.books.refused429).toBe(0);
      expect(shareUsed(service.books.acceptedAtMs, 120)).toBeGreaterThanOrEqual(0.99);
    },
  );

  it("no seed, window, latency, jitter or clock skew leads to a 429", async () => {
    for (let seed = 0; seed < 48; seed += 1) {
      const random = seeded(seed);
      const latencyMs = 5 * 400 ** random();
      const { service, failed } = await burst(480, {
        window: seed % 2 === 0 ? "sliding" : "fixed",
        windowOffsetMs: random() * minuteMs,
        legs: jitteryLegs(latencyMs, random(), random),
        skewMs: (random() - 0.5) * 20_000,
        client: { random },
      });
      expect({ seed, failed, refused: service.books.refused429 }).toEqual({ seed, failed: [], refused: 0 });
      expect(busiestWindow(service.books.acceptedAtMs), `seed ${seed}`).toBeLessThanOrEqual(120);
    }
  });

  it("a cold start that is far slower than everything after it leads to none either", async () => {
    let count = 0;
    const legs = () => {
      const isCold = count++ <= 120;
      return { forwardMs: isCold ? 900 : 1, backwardMs: isCold ? 100 : 1 };
    };
    const { service, failed } = await burst(480, { legs });
    expect(failed).toEqual([]);
    expect(service.books).toMatchObject({ accepted: 480, refused429: 0 });
  });

  it("a path that suddenly becomes 400 times faster costs one pause at most and no call", async () => {
    let fast = false;
    const legs = () => (fast ? { forwardMs: 2, backwardMs: 3 } : { forwardMs: 1_000, backwardMs: 1_000 });
    const { service, engine } = createEngineFixture({ legs });
    const calls = Array.from({ length: 720 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(2.5 * minuteMs);
    fast = true;
    await service.clock.advance(10 * minuteMs);
    await Promise.all(calls);
    expect(service.books.accepted).toBe(720);
    // Everything of one wave is on its way before the first refusal is heard of.
    expect(service.books.refused429).toBeLessThanOrEqual(120);
    expect(busiestWindow(service.books.acceptedAtMs)).toBeLessThanOrEqual(120);
  });

  it("a steady stream above the limit is held to it for ten minutes", async () => {
    const { service, engine } = createEngineFixture({ client: { rateLimit: { maxQueued: 5_000 } } });
    const calls: Promise<unknown>[] = [];
    for (let second = 0; second < 600; second += 1) {
      for (let each = 0; each < 4; each += 1) calls.push(engine.execute(probe.query, {}).catch(() => {}));
      await service.clock.advance(1_000);
    }
    expect(service.books.refused429).toBe(0);
    expect(service.books.accepted).toBeGreaterThanOrEqual(0.99 * 1_200);
    expect(busiestWindow(service.books.acceptedAtMs)).toBeLessThanOrEqual(120);
    await Promise.all([engine.close(), service.clock.advance(minuteMs)]);
    await Promise.all(calls);
  });

  it("a request that was given up counts as long as any, whatever is learned about the latency later", async () => {
    const { service, engine } = createEngineFixture({ legs: constantLegs(800) });
    const call = (options = {}) => engine.execute(probe.query, {}, options);
    const first = call();
    await service.clock.advance(59_000);
    // They have arrived when they are given up, and their answers never come.
    const givenUp = Promise.allSettled(Array.from({ length: 119 }, () => call({ deadlineMs: 500 })));
    await service.clock.advance(1_900);
    const last = call();
    await service.clock.advance(1_100);
    const queued = Promise.all(Array.from({ length: 119 }, () => call()));
    await service.clock.advance(2 * minuteMs);
    await Promise.all([first, givenUp, last, queued]);
    expect(service.books).toMatchObject({ accepted: 240, refused429: 0 });
    expect(busiestWindow(service.books.acceptedAtMs)).toBeLessThanOrEqual(120);
  });

  it("a wall clock that jumps changes nothing", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 240 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(10_000);
    service.clock.setNow(service.clock.now() + 86_400_000);
    await service.clock.advance(20_000);
    service.clock.setNow(service.clock.now() - 7 * 86_400_000);
    await service.clock.advance(40_000);
    await Promise.all(calls);
    expect(service.books).toMatchObject({ accepted: 240, refused429: 0 });
  });
});

describe("two clients in one process", () => {
  it("share the allowance of one key and address", async () => {
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
    expect(service.books).toMatchObject({ accepted: 240, refused429: 0 });
  });

  it("keep apart what belongs to different addresses", async () => {
    const a = createFakeService();
    const b = createFakeService({ clock: a.clock });
    for (const service of [a, b]) {
      const { apiKey, baseUrl, clock, fetch } = service;
      const engine = createTestEngine({ apiKey, baseUrl, clock, fetch });
      const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
      await clock.advance(1_000);
      await Promise.all(calls);
    }
    expect([a.books.accepted, b.books.accepted]).toEqual([120, 120]);
  });

  it("agree on the smaller limit when they were given different ones", async () => {
    const service = createFakeService({ limit: 30 });
    const { apiKey, baseUrl, clock, fetch } = service;
    const [wide] = [120, 30].map((requests) =>
      createTestEngine({ apiKey, baseUrl, clock, fetch, rateLimit: { requests } }),
    );
    // The second client has to have looked at its key once before anybody knows of its limit.
    await Promise.all([wide?.execute(probe.query, {}), clock.advance(1_000)]);
    expect(wide?.rateLimitSnapshot()?.limit).toBe(120);
    const narrow = createTestEngine({ apiKey, baseUrl, clock, fetch, rateLimit: { requests: 30 } });
    await Promise.all([narrow.execute(probe.query, {}), clock.advance(1_000)]);
    expect(wide?.rateLimitSnapshot()?.limit).toBe(30);
    const calls = Array.from({ length: 58 }, () => wide?.execute(probe.query, {}));
    await clock.advance(2 * minuteMs);
    await Promise.all(calls);
    expect(service.books).toMatchObject({ accepted: 60, refused429: 0 });
  });

  it("remember what a closed one has sent", async () => {
    const { service, engine } = createEngineFixture();
    const first = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(first);
    await engine.close();
    const { apiKey, baseUrl, clock, fetch } = service;
    const next = createTestEngine({ apiKey, baseUrl, clock, fetch });
    const call = next.execute(probe.query, {});
    await clock.advance(30_000);
    expect(service.books).toMatchObject({ accepted: 120, refused429: 0 });
    await clock.advance(31_000);
    await call;
    expect(service.books.accepted).toBe(121);
  });
});

describe("with a share of the allowance", () => {
  it("four processes with a quarter each stay within the limit together", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    const engines = [0, 1, 2, 3].map((seed) => {
      // An own clock object stands for an own process: allowances of different clocks do not know of each other.
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
    expect(service.books).toMatchObject({ accepted: 360, refused429: 0 });
  });
});

describe("with a store", () => {
  /** Each process has its own clock object: allowances of different clocks do not know of each other. */
  function processes(count: number, seed: number, latencyMs: number) {
    const random = seeded(seed);
    const service = createFakeService({ window: seed % 2 === 0 ? "sliding" : "fixed" });
    const { apiKey, baseUrl, clock } = service;
    const store = memoryRateLimitStore(clock, () => 1 + 10 * random());
    const engines = Array.from({ length: count }, () => {
      const own = { ...clock };
      const fetch = withLatency(service.fetch, own, jitteryLegs(latencyMs, 0.5, random));
      return createTestEngine({
        apiKey,
        baseUrl,
        clock: own,
        fetch,
        random,
        rateLimit: { store, maxQueued: 5_000 },
      });
    });
    return { service, engines };
  }

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "four processes use one allowance up, without a 429 and never above the window (seed %i)",
    async (seed) => {
      const { service, engines } = processes(4, seed, 5 * 3 ** (seed % 5));
      const calls = engines.flatMap((engine) =>
        Array.from({ length: 180 }, () => engine.execute(probe.query, {})),
      );
      await service.clock.advance(8 * minuteMs);
      await Promise.all(calls);
      expect(service.books).toMatchObject({ accepted: 720, refused429: 0 });
      expect(busiestWindow(service.books.acceptedAtMs)).toBeLessThanOrEqual(120);
      expect(shareUsed(service.books.acceptedAtMs, 120)).toBeGreaterThanOrEqual(0.95);
      await Promise.all([...engines.map((engine) => engine.close()), service.clock.advance(1_000)]);
    },
  );

  it("one process that is refused makes all of them wait", async () => {
    const { service, engines } = processes(4, 2, 50);
    for (let count = 0; count < 120; count += 1) service.rivalRequest();
    const [first, ...others] = engines;
    const calls = [first?.execute(probe.query, {})];
    await service.clock.advance(1_000);
    expect(service.books.refused429).toBe(1);
    calls.push(...others.map((engine) => engine.execute(probe.query, {})));
    await service.clock.advance(50_000);
    expect(service.books.refused429).toBe(1);
    await service.clock.advance(30_000);
    await Promise.all(calls);
  });

  it("a process that dies keeps its slots only until the lease ends", async () => {
    const { service, engines } = processes(2, 2, 50);
    const [dead, alive] = engines;
    const lost = Array.from({ length: 120 }, () => dead?.execute(probe.query, {}).catch(() => {}));
    await service.clock.advance(1_000);
    await Promise.all(lost);
    const call = alive?.execute(probe.query, {});
    await service.clock.advance(76_000);
    await call;
    expect(service.books).toMatchObject({ accepted: 121, refused429: 0 });
  });

  it("aborted calls give their slots back unused", async () => {
    const { service, engines } = processes(2, 2, 50);
    const [first, second] = engines;
    const controller = new AbortController();
    const warm = Promise.all([first?.execute(probe.query, {}), second?.execute(probe.query, {})]);
    await service.clock.advance(1_000);
    await warm;
    const { signal } = controller;
    const aborted = Array.from({ length: 100 }, () =>
      failureOf(first?.execute(probe.query, {}, { signal }) ?? Promise.reject()),
    );
    await service.clock.settle();
    controller.abort();
    expect((await Promise.all(aborted)).every(({ outcome }) => outcome === "not_sent")).toBe(true);
    const calls = Array.from({ length: 118 }, () => second?.execute(probe.query, {}));
    await service.clock.advance(3_000);
    await Promise.all(calls);
    expect(service.books.accepted).toBe(120);
  });
});

describe("when somebody else uses the key", () => {
  it.each([1, 2, 3, 4, 5, 6])("few calls are refused and none is lost (seed %i)", async (seed) => {
    const random = seeded(seed);
    const { service, engine } = createEngineFixture({
      window: seed % 2 === 0 ? "sliding" : "fixed",
      legs: jitteryLegs(100, 0.5, random),
      client: { random },
    });
    let rivalStopped = false;
    const rival = () => {
      if (rivalStopped) return;
      service.rivalRequest();
      service.clock.schedule(500 + 1_000 * random(), rival);
    };
    rival();
    await service.clock.advance(minuteMs);
    const calls = Array.from({ length: 360 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(2 * minuteMs);
    const refusedWhileLearning = service.books.refused429;
    await service.clock.advance(8 * minuteMs);
    await Promise.all(calls);
    rivalStopped = true;
    // Each minute after the first two may cost three.
    expect(service.books.refused429 - refusedWhileLearning).toBeLessThanOrEqual(3 * 8);
  });

  it("all calls wait once for Retry-After and come back in pace, not as a herd", async () => {
    const { service, engine } = createEngineFixture();
    for (let count = 0; count < 120; count += 1) service.rivalRequest();
    const calls = Array.from({ length: 60 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(service.books.refused429).toBe(60);
    await service.clock.advance(58_000);
    expect(service.books.refused429).toBe(60);
    await service.clock.advance(4 * minuteMs);
    await Promise.all(calls);
    expect(service.books.refused429).toBe(60);
    const [first = 0, second = 0] = service.books.acceptedAtMs.slice(120);
    expect(second - first).toBeGreaterThan(500);
  });

  it("returns to the whole allowance once the other is gone", async () => {
    const { service, engine } = createEngineFixture();
    for (let count = 0; count < 60; count += 1) service.rivalRequest();
    const early = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(6 * minuteMs);
    await Promise.all(early);
    const since = service.books.accepted;
    const late = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(late);
    expect(service.books.accepted - since).toBe(120);
  });

  it("without Retry-After the pauses grow instead of hammering", async () => {
    const { service, engine } = createEngineFixture({ withRetryAfter: false });
    for (let count = 0; count < 120; count += 1) service.rivalRequest();
    const call = engine.execute(probe.query, {});
    await service.clock.advance(2 * minuteMs);
    await call;
    expect(service.books.refused429).toBeLessThanOrEqual(7);
  });

  it("a call that cannot wait as long as Retry-After asks fails at once with the wait", async () => {
    const { service, engine } = createEngineFixture();
    for (let count = 0; count < 120; count += 1) service.rivalRequest();
    const failure = failureOf(engine.execute(probe.mutation, { ref: "m1" }, { deadlineMs: 20_000 }));
    await service.clock.advance(1_000);
    expect(await failure).toMatchObject({ code: "RATE_LIMITED", outcome: "rejected", attempts: 1 });
    expect((await failure).retryAfterMs).toBeGreaterThan(50_000);
    expect(service.books.applied).toEqual([]);
  });

  it("a refused mutation is sent again and applied once", async () => {
    const { service, engine } = createEngineFixture();
    for (let count = 0; count < 120; count += 1) service.rivalRequest();
    const call = engine.execute(probe.mutation, { ref: "m1" });
    await service.clock.advance(70_000);
    const { meta } = await call.withMeta();
    expect(service.books.applied).toEqual(["m1"]);
    expect(meta.attempts).toBe(2);
    expect(meta.retryAfterSeenMs).toBe(60_000);
    expect(meta.queuedMs).toBeGreaterThan(59_000);
  });

  it("a 429 inside an answer of 200 is the same", async () => {
    let refused = false;
    const { service, engine } = createEngineFixture({
      fault() {
        if (refused) return undefined;
        refused = true;
        const errors = [{ message: "slow down", extensions: { code: "RATE_LIMITED" } }];
        return {
          type: "status",
          status: 200,
          body: JSON.stringify({ errors }),
          headers: { "retry-after": "7" },
        };
      },
    });
    const call = engine.execute(probe.query, {});
    await service.clock.advance(6_900);
    expect(service.books.accepted).toBe(1);
    await service.clock.advance(1_000);
    expect((await call.withMeta()).meta).toMatchObject({ attempts: 2, retryAfterSeenMs: 7_000 });
  });
});

describe("the queue", () => {
  it("is bounded: the call too many fails at once and unsent", async () => {
    const { service, engine } = createEngineFixture({ client: { rateLimit: { maxQueued: 10 } } });
    const warm = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await warm;
    const calls = Array.from({ length: 129 }, () => engine.execute(probe.query, {}));
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure).toMatchObject({ code: "RATE_LIMIT_QUEUE_FULL", outcome: "not_sent", attempts: 0 });
    expect(failure.name).toBe("RateLimitQueueFullError");
    expect(failure.retryAfterMs).toBeGreaterThan(0);
    await service.clock.advance(2 * minuteMs);
    await Promise.all(calls);
  });

  it("keeps the order in which calls came", async () => {
    const { service, engine } = createEngineFixture();
    const refs = Array.from({ length: 300 }, (_, index) => `r${index}`);
    const calls = refs.map((ref) => engine.execute(probe.mutation, { ref }));
    await service.clock.advance(3 * minuteMs);
    await Promise.all(calls);
    expect(service.books.applied).toEqual(refs);
  });

  it("lets nobody wait longer than maxWaitMs, and says so before the wait when it is certain", async () => {
    const { service, engine } = createEngineFixture({ client: { rateLimit: { maxWaitMs: 10_000 } } });
    const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(calls);
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure).toMatchObject({ code: "RATE_LIMIT_WAIT_EXCEEDED", outcome: "not_sent" });
    expect(failure.retryAfterMs).toBeGreaterThan(50_000);
  });

  it("gives a place back when its caller aborts, and leaves nothing on the signal", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(calls);
    const controller = new AbortController();
    const aborted = failureOf(engine.execute(probe.mutation, { ref: "x" }, { signal: controller.signal }));
    const behind = engine.execute(probe.query, {});
    await service.clock.settle();
    expect(engine.rateLimitSnapshot()).toMatchObject({ queued: 2, remaining: 0, used: 120 });
    controller.abort(new Error("enough"));
    expect(await aborted).toMatchObject({ code: "ABORTED", outcome: "not_sent", attempts: 0 });
    expect(engine.rateLimitSnapshot()?.queued).toBe(1);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    await service.clock.advance(minuteMs);
    await behind;
    expect(service.books.applied).toEqual([]);
  });

  it("tells how full it is", async () => {
    const { service, engine } = createEngineFixture();
    expect(engine.rateLimitSnapshot()).toBeUndefined();
    const calls = Array.from({ length: 130 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    const snapshot = engine.rateLimitSnapshot();
    expect(snapshot).toMatchObject({ limit: 120, windowMs: 60_000, used: 120, remaining: 0, queued: 10 });
    expect(snapshot?.nextSlotInMs).toBeGreaterThan(58_000);
    await service.clock.advance(minuteMs);
    await Promise.all(calls);
  });

  it("leaves no timer behind once everything has settled", async () => {
    const { service } = await burst(240);
    expect(service.clock.pending().timers).toBe(0);
  });
});
