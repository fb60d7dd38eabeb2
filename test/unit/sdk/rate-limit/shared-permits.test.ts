import { describe, expect, it } from "vitest";
import { createVirtualClock, type VirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import {
  type AcquirePermitsRequest,
  type RateLimitStore,
  SharedPermits,
} from "../../../../sdk/rate-limit/shared-permits.ts";
import { constantLegs, openEngine, probe } from "../../../support/engine-fixture.ts";
import { createFakeService, seeded, withLatency } from "../../../support/fake-service.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import { memoryRateLimitStore } from "./memory-rate-limit-store.ts";

const minuteMs = 60_000;

/** A store that grants what `grant` says and never blocks. */
function permitsFrom(acquire: (request: AcquirePermitsRequest) => unknown) {
  const clock = createVirtualClock();
  const requests: AcquirePermitsRequest[] = [];
  const failures: unknown[] = [];
  let changes = 0;
  let taken = 0;
  const permits: SharedPermits = new SharedPermits({
    key: "k",
    limit: 120,
    windowMs: minuteMs,
    clock,
    store: {
      acquire: async (request) => {
        requests.push(request);
        return acquire(request) as never;
      },
      block: async () => {},
    },
    onChange() {
      changes += 1;
      while (permits.take()) taken += 1;
    },
    onFailure: (error) => failures.push(error),
  });
  return { clock, permits, requests, failures, changes: () => changes, taken: () => taken };
}

describe("the permits of a shared rate limit", () => {
  it("are acquired for all waiting calls at once, and the store is asked once at a time", async () => {
    const { clock, permits, requests, taken } = permitsFrom(({ count }) => ({
      granted: count,
      retryInMs: 0,
    }));
    permits.request(3);
    permits.request(5);
    await clock.settle();
    expect(requests).toEqual([{ key: "k", limit: 120, count: 3, windowMs: minuteMs }]);
    expect(taken()).toBe(3);
  });

  it("are asked for again when the store says so", async () => {
    const { clock, permits, changes } = permitsFrom(() => ({ granted: 0, retryInMs: 7_000 }));
    permits.request(1);
    await clock.settle();
    permits.request(1);
    await clock.advance(6_999);
    expect(changes()).toBe(1);
    await clock.advance(1);
    expect(changes()).toBe(2);
  });

  it("are not kept for later when no call takes them, and no timer is left", async () => {
    const clock = createVirtualClock();
    const store = memoryRateLimitStore(clock, () => 5);
    const permits = new SharedPermits({
      store,
      key: "k",
      limit: 2,
      windowMs: minuteMs,
      clock,
      onChange() {},
      onFailure() {},
    });
    permits.request(3);
    await clock.advance(10);
    expect(permits.take()).toBe(false);
    permits.request(0);
    expect(clock.pending().timers).toBe(0);
  });

  it.each([undefined, {}, { granted: "all" }, { granted: -3, retryInMs: Number.NaN }, { granted: 1e9 }])(
    "are at most those that were asked for, whatever a store returns (%j)",
    async (result) => {
      const { clock, permits, taken } = permitsFrom(() => result);
      permits.request(3);
      await clock.settle();
      expect(taken()).toBe(result?.granted === 1e9 ? 3 : 0);
    },
  );
});

/** Engines that share a store and differ in their clocks, as processes do. */
function processes(count: number, storeOf: (clock: VirtualClock) => RateLimitStore, latencyMs = 100) {
  const service = createFakeService();
  const { clock } = service;
  const store = storeOf(clock);
  const engines = Array.from({ length: count }, (_, seed) => {
    const own = { ...clock };
    const fetch = withLatency(service.fetch, own, constantLegs(latencyMs + 300 * seed));
    const rateLimit = { store };
    return openEngine(service, { clock: own, fetch, random: seeded(seed), rateLimit });
  });
  return { service, engines };
}

describe("processes that share a rate limit", () => {
  it.each([
    [96, 100],
    // A permit whose call has no token is lost: the token is refreshed while the calls wait, however long that takes.
    [94, 3_000],
  ])("use %i percent of it without a 429 at a round trip of %i ms", async (percent, latencyMs) => {
    const store = (clock: VirtualClock) => memoryRateLimitStore(clock, () => 5);
    const { service, engines } = processes(3, store, latencyMs);
    const calls = engines.flatMap((engine) =>
      Array.from({ length: 240 }, () => codeOf(engine.execute(probe.query, {}))),
    );
    await service.clock.advance(10 * minuteMs);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["no error"]));
    expect(service.log).toMatchObject({ accepted: 720, rejected429: 0 });
    const later = service.log.acceptedAtMs.toSorted((a, b) => a - b).slice(119);
    const usedMs = (later.at(-1) ?? 0) - (later[0] ?? 0);
    expect(((later.length - 1) * minuteMs) / (120 * usedMs)).toBeGreaterThan(percent / 100);
  });

  it("continue when one of them has ended, and what it was granted counts for one window", async () => {
    const { service, engines } = processes(2, (clock) => memoryRateLimitStore(clock, () => 5));
    const [dead, alive] = engines;
    const lost = Array.from({ length: 60 }, () => codeOf(dead!.execute(probe.query, {})));
    await service.clock.advance(5_000);
    void dead!.close();
    const calls = Array.from({ length: 120 }, () => codeOf(alive!.execute(probe.query, {})));
    await service.clock.advance(70_000);
    await Promise.all(lost);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["no error"]));
    expect(service.log).toMatchObject({ accepted: 180, rejected429: 0 });
  });

  it("all wait when one of them is rejected", async () => {
    const { service, engines } = processes(2, (clock) => memoryRateLimitStore(clock, () => 5));
    for (let count = 0; count < 120; count += 1) service.otherClientRequest();
    const [first, second] = engines;
    const calls = [first!.execute(probe.query, {})];
    await service.clock.advance(1_000);
    calls.push(second!.execute(probe.query, {}));
    await service.clock.advance(70_000);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 2, rejected429: 1 });
  });
});

it("a store whose result cannot be read fails the calls that wait for it", async () => {
  const unreadable = {
    get granted() {
      throw new Error("unreadable");
    },
  };
  const { clock, permits, failures, requests } = permitsFrom(() => unreadable);
  permits.request(1);
  await clock.settle();
  expect(failures).toMatchObject([{ message: "unreadable" }]);
  permits.request(1);
  await clock.settle();
  expect(requests).toHaveLength(2);
});

it.each([undefined, null, 5, {}, { granted: "many" }, { granted: -1 }, { granted: Number.NaN }])(
  "a store that returns %j fails the calls that wait for it",
  async (result) => {
    const { clock, permits, failures } = permitsFrom(() => result);
    permits.request(1);
    await clock.settle();
    expect(failures).toMatchObject([{ message: expect.stringContaining("got granted: ") }]);
  },
);

it("a store that rejects fails the calls that wait for it, unsent and with the cause", async () => {
  const error = Object.assign(new Error("no route"), { code: "EHOSTUNREACH" });
  const { engines, service } = processes(1, () => ({
    acquire: () => Promise.reject(error),
    block: async () => {},
  }));
  const failure = failureOf(engines[0]!.execute(probe.query, {}, { maxRetries: 1 }));
  await service.clock.advance(5_000);
  const expected = { code: "RATE_LIMIT_STORE_FAILED", outcome: "not_sent", attempts: 0 };
  expect(await failure).toMatchObject({ ...expected, cause: { code: "EHOSTUNREACH" } });
});

describe("a store that does not respond", () => {
  const silent = (): RateLimitStore => ({ acquire: () => new Promise(() => {}), block: async () => {} });

  it("fails the calls that wait for it after 5 s", async () => {
    const { service, engines } = processes(1, silent);
    const failure = failureOf(engines[0]!.execute(probe.query, {}, { maxRetries: 0 }));
    await service.clock.advance(5_200);
    expect(await failure).toMatchObject({
      code: "RATE_LIMIT_STORE_FAILED",
      outcome: "not_sent",
      attempts: 0,
    });
    expect(((await failure).cause as Error).message).toBe("the store did not respond within 5000 ms");
  });

  it("does not keep a client from closing", async () => {
    const { service, engines } = processes(1, silent);
    const failure = failureOf(engines[0]!.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await engines[0]!.close();
    expect(await failure).toMatchObject({ code: "CLIENT_CLOSED", outcome: "not_sent" });
  });
});
