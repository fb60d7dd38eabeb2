import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { atDepth } from "../../../support/depth.ts";
import {
  busiestWindow,
  constantLegs,
  createEngineFixture,
  type EngineFixtureOptions,
  jitteryLegs,
  openEngine,
  probe,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { type FakeService, seeded, withLatency } from "../../../support/fake-service.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";

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

describe("the rate limiter of the key's only client", () => {
  it("control: without the limiter the same burst is rejected hundreds of times", async () => {
    const { service, failed } = await burst(360, { client: { rateLimit: false, maxRetries: 0 } });
    expect(service.log.rejected429).toBe(240);
    expect(failed).toHaveLength(240);
  });

  it("the limiter causes no 429, whatever the window, latency, jitter and clock skew", async () => {
    for (let seed = 0; seed < atDepth(12, 48); seed += 1) {
      const random = seeded(seed);
      const latencyMs = 5 * 400 ** random();
      const { service, failed } = await burst(480, {
        window: seed % 2 === 0 ? "sliding" : "fixed",
        windowOffsetMs: random() * minuteMs,
        legs: jitteryLegs(latencyMs, random(), random),
        skewMs: (random() - 0.5) * 20_000,
        client: { random },
      });
      expect({ seed, failed, rejected: service.log.rejected429 }).toEqual({ seed, failed: [], rejected: 0 });
      expect(busiestWindow(service.log.acceptedAtMs), `seed ${seed}`).toBeLessThanOrEqual(120);
    }
  });

  it("the limiter is not affected by jumps of the wall clock to a later time", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 240 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(10_000);
    service.clock.setNow(service.clock.now() + 86_400_000);
    await service.clock.advance(60_000);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 240, rejected429: 0 });
  });
});

describe("the rate limiter of a key with another client", () => {
  it.each([1, 2])("the limiter loses no call, and pauses after each 429 (seed %i)", async (seed) => {
    const random = seeded(seed);
    const { service, engine } = createEngineFixture({
      window: seed % 2 === 0 ? "sliding" : "fixed",
      legs: jitteryLegs(100, 0.5, random),
      client: { random },
    });
    let isStopped = false;
    const sendOther = () => {
      if (isStopped) return;
      service.otherClientRequest();
      service.clock.schedule(500 + 1_000 * random(), sendOther);
    };
    sendOther();
    await service.clock.advance(minuteMs);
    const calls = Array.from({ length: 360 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(10 * minuteMs);
    await Promise.all(calls);
    isStopped = true;
    expect(service.log.rejected429).toBeLessThan(150);
  });

  it("the same program twice, each with 100 calls at once, completes both within the default deadline", async () => {
    const { service, engine } = createEngineFixture({ client: { deadlineMs: 120_000 } });
    // As in another process: its limiter does not know of this one.
    const clock = { ...service.clock };
    const fetch = withLatency(service.fetch, clock, constantLegs(100));
    const other = openEngine(service, { clock, fetch, random: seeded(2), deadlineMs: 120_000 });
    const run = (each: TestEngine) =>
      Array.from({ length: 100 }, () => codeOf(each.execute(probe.query, {})));
    const calls = [...run(engine), ...run(other)];
    await service.clock.advance(2 * minuteMs);
    expect(await Promise.all(calls)).toEqual(Array(200).fill("no error"));
  });

  const uses = (service: FakeService, requests: number, overMs = 0) => {
    for (let count = 0; count < requests; count += 1) {
      service.clock.schedule((overMs * count) / requests, () => void service.otherClientRequest());
    }
    return service.clock.advance(overMs);
  };

  it.each([
    [118, 0, 5],
    [118, 0, 400],
    [119, 0, 100],
    [120, 0, 100],
    [118, 20_000, 100],
    [118, 59_000, 100],
  ])(
    "the limiter completes 100 calls within the default deadline at two 429s after others used %i slots in %i ms (latency %i ms)",
    async (used, overMs, latencyMs) => {
      const legs = constantLegs(latencyMs);
      const { service, engine } = createEngineFixture({ legs, client: { deadlineMs: 120_000 } });
      await uses(service, used, overMs);
      const calls = Array.from({ length: 100 }, () => codeOf(engine.execute(probe.query, {})));
      await service.clock.advance(minuteMs);
      expect(service.log.rejected429).toBeLessThanOrEqual(2);
      await service.clock.advance(minuteMs);
      expect(await Promise.all(calls)).toEqual(Array(100).fill("no error"));
      expect(service.log.rejected429).toBeLessThanOrEqual(2);
    },
  );

  it("slow requests at the start do not hold the other calls back", async () => {
    let count = 0;
    // The exchange, and then the first two calls.
    const legs = () => ({ forwardMs: 50, backwardMs: [2, 3].includes(++count) ? 14_000 : 50 });
    const { service, engine } = createEngineFixture({ legs });
    const calls = Array.from({ length: 60 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(6_000);
    expect(service.log.accepted).toBe(60);
    await service.clock.advance(10_000);
    await Promise.all(calls);
  });

  it("the limiter fails no call early because others were rejected, however often", async () => {
    let rejections = 0;
    const { service, engine } = createEngineFixture({
      fault: () =>
        rejections++ < 10 ? { type: "status", status: 429, headers: { "retry-after": "1" } } : undefined,
    });
    const call = () => codeOf(engine.execute(probe.query, {}, { deadlineMs: 900_000 }));
    const rejected = call();
    await service.clock.advance(70_000);
    expect(await rejected).toBe("no error");
    const calls = Array.from({ length: 100 }, call);
    await service.clock.advance(10 * minuteMs);
    expect(await Promise.all(calls)).toEqual(Array(100).fill("no error"));
    expect(service.log.accepted).toBe(111);
  });

  it("a call that ends at its deadline says when the next one can be sent", async () => {
    const { service, engine } = createEngineFixture();
    await uses(service, 120);
    const calls = Array.from({ length: 2 }, () => codeOf(engine.execute(probe.query, {})));
    await service.clock.advance(30_000);
    // Its own place in the window is no reason to fail early, and the rest of Retry-After is 30 s.
    const failure = failureOf(engine.execute(probe.query, {}, { deadlineMs: 20_000 }));
    expect(await failure).toMatchObject({ code: "RATE_LIMIT_WAIT_EXCEEDED", attempts: 0 });
    expect((await failure).retryAfterMs).toBeGreaterThan(29_000);
    expect((await failure).retryAfterMs).toBeLessThan(31_000);
    await service.clock.advance(40_000);
    await Promise.all(calls);
  });

  it("the limiter sends a rejected mutation again, which is applied once", async () => {
    const { service, engine } = createEngineFixture();
    for (let count = 0; count < 120; count += 1) service.otherClientRequest();
    const call = engine.execute(probe.mutation, { ref: "m1" });
    await service.clock.advance(70_000);
    const { meta } = await call.withMeta();
    expect(service.log.applied).toEqual(["m1"]);
    expect(meta.attempts).toBe(2);
    expect(meta.queuedMs).toBeGreaterThan(59_000);
  });
});

describe("the queue of the rate limiter", () => {
  it("the queue rejects one call more than maxQueued at once, unsent", async () => {
    const { service, engine } = createEngineFixture({ client: { rateLimit: { maxQueued: 10 } } });
    const warm = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await warm;
    const calls = Array.from({ length: 129 }, () => engine.execute(probe.query, {}));
    const failure = await failureOf(engine.execute(probe.query, {}));
    expect(failure).toMatchObject({ code: "RATE_LIMIT_QUEUE_FULL", outcome: "not_sent", attempts: 0 });
    expect(failure.retryAfterMs).toBeGreaterThan(0);
    await service.clock.advance(2 * minuteMs);
    await Promise.all(calls);
  });

  it("the queue removes an aborted call, and its listener from the signal", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(5_000);
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
    expect(service.log.applied).toEqual([]);
  });

  it("the snapshot reports the queue", async () => {
    const { service, engine } = createEngineFixture();
    expect(engine.rateLimitSnapshot()).toBeUndefined();
    const calls = Array.from({ length: 130 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(5_000);
    const snapshot = engine.rateLimitSnapshot();
    expect(snapshot).toMatchObject({ limit: 120, windowMs: 60_000, used: 120, remaining: 0, queued: 10 });
    expect(snapshot?.nextSlotInMs).toBeGreaterThan(54_000);
    await service.clock.advance(minuteMs);
    await Promise.all(calls);
  });
});
