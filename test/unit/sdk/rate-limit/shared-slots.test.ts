import { describe, expect, it } from "vitest";
import type { AcquireSlotsResult } from "../../../../sdk/rate-limit/rate-limit-store.ts";
import { SharedSlots } from "../../../../sdk/rate-limit/shared-slots.ts";
import { deferred } from "../../../support/deferred.ts";
import {
  busiestWindow,
  createTestEngine,
  jitteryLegs,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { seeded, withLatency } from "../../../support/latency.ts";
import { memoryRateLimitStore } from "../../../support/memory-rate-limit-store.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

const minuteMs = 60_000;

describe("processes that share a rate limit through a store", () => {
  /** Clients with a clock of their own, as in processes of their own: limiters of different clocks are independent. */
  function processes(count: number, seed: number, ...latenciesMs: readonly number[]) {
    const random = seeded(seed);
    const service = createFakeService({ window: seed % 2 === 0 ? "sliding" : "fixed" });
    const { apiKey, baseUrl, clock } = service;
    const store = memoryRateLimitStore(clock, () => 1 + 10 * random());
    const engines = Array.from({ length: count }, (_, index) => {
      const own = { ...clock };
      const latencyMs = latenciesMs[index % latenciesMs.length] ?? 0;
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

  const callAll = (engines: readonly TestEngine[]) =>
    engines.flatMap((engine) => Array.from({ length: 180 }, () => engine.execute(probe.query, {})));

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "processes use at least 0.95 of it without a 429 and never exceed the window (seed %i)",
    async (seed) => {
      const { service, engines } = processes(4, seed, 5 * 3 ** (seed % 5));
      const calls = callAll(engines);
      await service.clock.advance(8 * minuteMs);
      await Promise.all(calls);
      expect(service.log).toMatchObject({ accepted: 720, rejected429: 0 });
      expect(busiestWindow(service.log.acceptedAtMs)).toBeLessThanOrEqual(120);
      // Six windows for six times the limit, the first of them used at once.
      const lastMs = Math.max(...service.log.acceptedAtMs);
      expect(lastMs).toBeLessThan((5 * minuteMs) / 0.95);
      await Promise.all([...engines.map((engine) => engine.close()), service.clock.advance(1_000)]);
    },
  );

  it.each([1, 2, 3, 4])("processes whose paths differ never exceed the window (seed %i)", async (seed) => {
    const { service, engines } = processes(4, seed, 1, 900);
    const calls = callAll(engines);
    await service.clock.advance(9 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 720, rejected429: 0 });
    expect(busiestWindow(service.log.acceptedAtMs)).toBeLessThanOrEqual(120);
  });

  it("processes all wait when one of them is rejected", async () => {
    const { service, engines } = processes(4, 2, 50);
    for (let count = 0; count < 120; count += 1) service.otherClientRequest();
    const [first, ...others] = engines;
    const calls = [first?.execute(probe.query, {})];
    await service.clock.advance(1_000);
    expect(service.log.rejected429).toBe(1);
    calls.push(...others.map((engine) => engine.execute(probe.query, {})));
    await service.clock.advance(50_000);
    expect(service.log.rejected429).toBe(1);
    await service.clock.advance(30_000);
    await Promise.all(calls);
  });

  it("processes get a dead process's slots when its lease ends", async () => {
    const { service, engines } = processes(2, 2, 50);
    const [dead, alive] = engines;
    const lost = Array.from({ length: 120 }, () => dead?.execute(probe.query, {}).catch(() => {}));
    await service.clock.advance(1_000);
    await Promise.all(lost);
    const call = alive?.execute(probe.query, {});
    await service.clock.advance(76_000);
    await call;
    expect(service.log).toMatchObject({ accepted: 121, rejected429: 0 });
  });

  it("processes get the slots of aborted calls back", async () => {
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
    expect(service.log.accepted).toBe(120);
  });
});

describe("a store that returns nonsense", () => {
  it.each([Number.NaN, -5, Number.POSITIVE_INFINITY, 1e12, undefined])(
    "about when to try again (%s) is asked again in time, and not without a pause",
    async (retryInMs) => {
      const { clock } = createFakeService();
      let calls = 0;
      const store = {
        acquire: async () => {
          calls += 1;
          return { slots: [], retryInMs } as unknown as AcquireSlotsResult;
        },
        release: async () => {},
        block: async () => {},
      };
      const redactCause = (error: unknown) => error;
      const slots = new SharedSlots({ key: "k", limit: 3, leaseMs: 60_000, clock, redactCause, store });
      slots.connect({ onChange: () => slots.request(1), onFailure() {} });
      slots.request(1);
      await clock.advance(61_000);
      expect(calls).toBeGreaterThan(1);
      expect(calls).toBeLessThanOrEqual(61_000 / 20 + 1);
      await slots.flush();
    },
  );

  it("too late causes no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    const { clock } = createFakeService();
    const late = deferred<AcquireSlotsResult>();
    const store = { acquire: () => late.promise, release: async () => {}, block: async () => {} };
    const redactCause = (error: unknown) => error;
    const slots = new SharedSlots({ key: "k", limit: 3, leaseMs: 60_000, clock, redactCause, store });
    slots.connect({ onChange() {}, onFailure() {} });
    slots.request(1);
    await clock.advance(5_000);
    late.resolve(undefined as unknown as AcquireSlotsResult);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", listener);
    expect(unhandled).toEqual([]);
  });
});

describe("a store that throws instead of returning a promise", () => {
  it("fails the calls that wait for it, and nothing else", async () => {
    const clock = createFakeService().clock;
    const failures: string[] = [];
    const fail = (): never => {
      throw new Error("the store is broken");
    };
    let acquire = async () => ({ slots: [{ slot: 1, fence: "first" }], retryInMs: 0 });
    const slots = new SharedSlots({
      ...{ key: "k", limit: 3, leaseMs: 60_000, clock, redactCause: (error: unknown) => error },
      store: { acquire: () => acquire(), release: fail, block: fail },
    });
    slots.connect({ onChange() {}, onFailure: ({ code }) => failures.push(code) });
    slots.request(1);
    await clock.advance(0);
    slots.take()?.release(0);
    slots.block(1_000);
    await clock.advance(1_000);
    acquire = fail;
    slots.request(0);
    slots.request(1);
    await clock.advance(0);
    expect(failures).toEqual(["RATE_LIMIT_STORE_FAILED"]);
    await slots.flush();
  });
});

describe("a store that does not return", () => {
  it("fails the calls that wait for it, and the slots that it hands out later are released", async () => {
    const clock = createFakeService().clock;
    const acquired = deferred<AcquireSlotsResult>();
    const released: string[] = [];
    const failures: string[] = [];
    const slots = new SharedSlots({
      ...{ key: "k", limit: 3, leaseMs: 60_000, clock, redactCause: (error: unknown) => error },
      store: {
        acquire: () => acquired.promise,
        release: async (_, given) => void released.push(...given.map(({ fence }) => fence)),
        block: async () => {},
      },
    });
    slots.connect({ onChange() {}, onFailure: ({ code }) => failures.push(code) });
    slots.request(1);
    await clock.advance(5_000);
    expect(failures).toEqual(["RATE_LIMIT_STORE_FAILED"]);
    slots.request(0);
    acquired.resolve({ slots: [{ slot: 1, fence: "late" }], retryInMs: 0 });
    await clock.advance(100);
    expect(released).toEqual(["late"]);
  });

  it("does not keep a client from closing", async () => {
    const clock = createFakeService().clock;
    const slots = new SharedSlots({
      ...{ key: "k", limit: 3, leaseMs: 60_000, clock, redactCause: (error: unknown) => error },
      store: {
        acquire: () => new Promise(() => {}),
        release: async () => {},
        block: () => new Promise(() => {}),
      },
    });
    slots.connect({ onChange() {}, onFailure() {} });
    slots.request(1);
    slots.block(1_000);
    let flushed = false;
    void slots.flush().then(() => {
      flushed = true;
    });
    await clock.advance(5_000);
    expect(flushed).toBe(true);
    expect(clock.pending().timers).toBe(0);
  });
});
