import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { Fetch } from "../../../../sdk/request/transport.ts";
import { constantLegs, createEngineFixture, createTestEngine } from "../../../support/engine-fixture.ts";
import { failureOf } from "../../../support/failure-of.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { withLatency } from "../../../support/latency.ts";
import { probe } from "../../../support/probe-operations.ts";

/** A service whose answers to anything but the exchange are made by `answer`. */
function engineWith(answer: Fetch, maxRetries = 3) {
  const service = createFakeService();
  const { apiKey, baseUrl, clock } = service;
  let asked = 0;
  const fetch: Fetch = (input, init) => {
    if (String(init?.body).includes("ExchangeApiKey")) return service.fetch(input, init);
    asked += 1;
    return answer(input, init);
  };
  const engine = createTestEngine({ apiKey, baseUrl, clock, fetch, maxRetries, random: () => 0.5 });
  return { engine, clock, asked: () => asked };
}

/** An answer whose body sends its first bytes and then nothing, whatever happens to the request. */
function stalled(): Response {
  const body = new ReadableStream({
    start: (stream) => stream.enqueue(new TextEncoder().encode('{"data":')),
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

const never: Fetch = () => new Promise(() => {});

describe("timeoutMs", () => {
  it("ends a call whose body stalls after the headers", async () => {
    const { engine, clock } = engineWith(async () => stalled());
    const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 800 }));
    await clock.advance(799);
    expect(clock.pending().timers).toBe(1);
    await clock.advance(1);
    expect(await failure).toMatchObject({
      name: "RequestTimeoutError",
      code: "REQUEST_TIMEOUT",
      outcome: "unknown",
      attempts: 1,
    });
    expect(clock.pending().timers).toBe(0);
  });

  it("cancels the stalled body, so that its connection is not kept", async () => {
    let cancelled = false;
    const cancel = () => {
      cancelled = true;
    };
    const body = () => new ReadableStream({ cancel });
    const { engine, clock } = engineWith(async () => new Response(body()));
    const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 800 }));
    await clock.advance(800);
    await failure;
    expect(cancelled).toBe(true);
  });

  it("cancels the body of an answer that comes after the end", async () => {
    const late: { answer?: (response: Response) => void; cancelled?: boolean } = {};
    const { engine, clock } = engineWith(
      () => new Promise((resolve) => Object.assign(late, { answer: resolve })),
    );
    const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 800 }));
    await clock.advance(800);
    await failure;
    const cancel = () => void Object.assign(late, { cancelled: true });
    late.answer?.(new Response(new ReadableStream({ cancel })));
    await clock.settle();
    expect(late.cancelled).toBe(true);
  });

  it("ends each attempt of a query, which is then repeated", async () => {
    const { engine, clock, asked } = engineWith(never);
    const failure = failureOf(engine.execute(probe.query, {}, { timeoutMs: 1_000 }));
    await clock.advance(20_000);
    expect(await failure).toMatchObject({ code: "REQUEST_TIMEOUT", attempts: 4 });
    expect(asked()).toBe(4);
  });

  it("ends an exchange as well: the mutation behind it was not sent", async () => {
    const { apiKey, baseUrl, clock } = createFakeService();
    const engine = createTestEngine({ apiKey, baseUrl, clock, fetch: never, timeoutMs: 500, maxRetries: 1 });
    const failure = failureOf(engine.execute(probe.mutation, {}));
    await clock.advance(5_000);
    expect(await failure).toMatchObject({ code: "REQUEST_TIMEOUT", outcome: "not_sent", attempts: 0 });
  });

  it("that nobody reaches leaves no timer", async () => {
    const { service, engine } = createEngineFixture();
    const call = engine.execute(probe.query, {}, { timeoutMs: 60_000, deadlineMs: 120_000 });
    await service.clock.advance(1_000);
    await call;
    expect(service.clock.pending().timers).toBe(0);
  });
});

describe("timers", () => {
  /** Timers set by one call after `before` others of the same minute. */
  async function timersOfCallAfter(before: number): Promise<number> {
    const service = createFakeService();
    const { apiKey, baseUrl, clock, fetch } = service;
    let timers = 0;
    const schedule: typeof clock.schedule = (delayMs, run) => {
      timers += 1;
      return clock.schedule(delayMs, run);
    };
    const { now, monotonic } = clock;
    const engine = createTestEngine({ apiKey, baseUrl, fetch, clock: { now, monotonic, schedule } });
    for (let count = 0; count < before; count += 1) await engine.execute(probe.query, {});
    timers = 0;
    const call = engine.execute(probe.query, {});
    await clock.advance(70_000);
    await call;
    return timers;
  }

  it("are one per call, its timeout, when token and slot are at hand", async () => {
    expect(await timersOfCallAfter(1)).toBe(1);
  });

  it("control: a call that queues sets those of the queue as well", async () => {
    expect(await timersOfCallAfter(120)).toBeGreaterThan(2);
  });
});

describe("deadlineMs", () => {
  it("bounds retries: it is kept to the millisecond and not slept into", async () => {
    const { engine, clock } = engineWith(never);
    const startedAtMs = clock.monotonic();
    let settledAtMs = 0;
    const failure = failureOf(engine.execute(probe.query, {}, { timeoutMs: 1_000, deadlineMs: 2_500 }));
    void failure.then(() => {
      settledAtMs = clock.monotonic();
    });
    await clock.advance(10_000);
    expect(await failure).toMatchObject({ code: "DEADLINE_EXCEEDED", outcome: "unknown", attempts: 3 });
    expect(settledAtMs - startedAtMs).toBe(2_500);
  });

  it("bounds the queue: a call that cannot get its turn in time fails at once", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(calls);
    const startedAtMs = service.clock.monotonic();
    const failure = await failureOf(engine.execute(probe.mutation, {}, { deadlineMs: 30_000 }));
    expect(failure).toMatchObject({ code: "RATE_LIMIT_WAIT_EXCEEDED", outcome: "not_sent" });
    expect(service.clock.monotonic()).toBe(startedAtMs);
  });

  it("bounds a wait that nobody could foresee", async () => {
    const { service, engine } = createEngineFixture({
      legs: constantLegs(90_000),
      client: { timeoutMs: 300_000 },
    });
    const warm = engine.workspaceToken();
    await service.clock.advance(90_000);
    await warm;
    for (let count = 0; count < 120; count += 1) engine.execute(probe.query, {}).catch(() => {});
    const failure = failureOf(engine.execute(probe.mutation, {}, { deadlineMs: 100_000 }));
    await service.clock.advance(100_000);
    expect(await failure).toMatchObject({ code: "DEADLINE_EXCEEDED", outcome: "not_sent", attempts: 0 });
    await service.clock.advance(200_000);
  });

  it("bounds the exchange", async () => {
    const { apiKey, baseUrl, clock } = createFakeService();
    const engine = createTestEngine({ apiKey, baseUrl, clock, fetch: never });
    const failure = failureOf(engine.execute(probe.mutation, {}, { deadlineMs: 700 }));
    await clock.advance(700);
    expect(await failure).toMatchObject({ code: "DEADLINE_EXCEEDED", outcome: "not_sent", attempts: 0 });
    const closing = engine.close();
    await clock.advance(60_000);
    await closing;
  });
});

describe("a caller's signal", () => {
  it("keeps no listener after 10,000 calls", async () => {
    const { service, engine } = createEngineFixture({
      limit: 20_000,
      client: { rateLimit: { requests: 20_000, maxQueued: 20_000 } },
    });
    const { signal } = new AbortController();
    for (let batch = 0; batch < 10; batch += 1) {
      const calls = Array.from({ length: 1_000 }, () => engine.execute(probe.query, {}, { signal }));
      await service.clock.advance(1_000);
      await Promise.all(calls);
    }
    expect(service.books.accepted).toBe(10_000);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("carries one listener, however many calls hold it at once", async () => {
    const { service, engine } = createEngineFixture();
    const controller = new AbortController();
    const { signal } = controller;
    const failures = Array.from({ length: 50 }, () => failureOf(engine.execute(probe.query, {}, { signal })));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort();
    expect(new Set((await Promise.all(failures)).map(({ code }) => code))).toEqual(new Set(["ABORTED"]));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await service.clock.advance(1_000);
  });

  it("keeps none after calls that failed either", async () => {
    const { engine, clock } = engineWith(async () => new Response("no", { status: 500 }), 1);
    const { signal } = new AbortController();
    const calls = Array.from({ length: 50 }, () => failureOf(engine.execute(probe.query, {}, { signal })));
    await clock.advance(10_000);
    await Promise.all(calls);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("that has ended already sends nothing", async () => {
    const { service, engine } = createEngineFixture();
    const reason = new Error("user left");
    const failure = await failureOf(
      engine.execute(probe.mutation, {}, { signal: AbortSignal.abort(reason) }),
    );
    expect(failure).toMatchObject({
      name: "AbortedError",
      code: "ABORTED",
      outcome: "not_sent",
      cause: reason,
    });
    expect(service.books).toMatchObject({ exchanges: 0, accepted: 0 });
  });

  it("that has ended already takes no slot either, although token and slot are at hand", async () => {
    const { service, engine } = createEngineFixture();
    const warm = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await warm;
    const failure = await failureOf(engine.execute(probe.mutation, {}, { signal: AbortSignal.abort() }));
    expect(failure).toMatchObject({ code: "ABORTED", outcome: "not_sent", attempts: 0 });
    expect(engine.rateLimitSnapshot()).toMatchObject({ used: 1, queued: 0 });
  });

  it("ends a request on its way, whose outcome nobody knows then", async () => {
    const { service, engine } = createEngineFixture();
    const controller = new AbortController();
    const warm = engine.workspaceToken();
    await service.clock.advance(100);
    await warm;
    const failure = failureOf(engine.execute(probe.mutation, { ref: "m" }, { signal: controller.signal }));
    await service.clock.advance(60);
    controller.abort();
    expect(await failure).toMatchObject({ code: "ABORTED", outcome: "unknown", attempts: 1 });
    expect(service.books.applied).toEqual(["m"]);
    await service.clock.advance(1_000);
    expect(service.clock.pending().timers).toBe(0);
  });

  it("ends a pause between two attempts", async () => {
    const { engine, clock } = engineWith(async () => new Response("no", { status: 503 }));
    const controller = new AbortController();
    const failure = failureOf(engine.execute(probe.query, {}, { signal: controller.signal }));
    await clock.advance(10);
    controller.abort();
    expect(await failure).toMatchObject({ code: "ABORTED", attempts: 1 });
    expect(clock.pending().timers).toBe(0);
  });
});

describe("close", () => {
  it("refuses new calls, ends waiting ones, and lets those on their way finish", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 130 }, () => engine.execute(probe.query, {}));
    const settled = Promise.allSettled(calls);
    await service.clock.advance(150);
    const closing = engine.close();
    expect(await failureOf(engine.execute(probe.query, {}))).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(await failureOf(engine.workspaceToken())).toMatchObject({ code: "CLIENT_CLOSED" });
    await service.clock.advance(1_000);
    await closing;
    const results = await settled;
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(120);
    expect(service.clock.pending().timers).toBe(0);
  });

  it("ends an exchange that hangs", async () => {
    const { apiKey, baseUrl, clock } = createFakeService();
    const engine = createTestEngine({ apiKey, baseUrl, clock, fetch: never });
    const failure = failureOf(engine.execute(probe.query, {}));
    await clock.settle();
    await engine.close();
    expect(await failure).toMatchObject({ code: "CLIENT_CLOSED", outcome: "not_sent" });
    expect(clock.pending().timers).toBe(0);
  });
});

it("a fetch that ignores its signal is left behind all the same", async () => {
  const service = createFakeService();
  const { apiKey, baseUrl, clock } = service;
  const deaf = withLatency(
    (input, init) => service.fetch(input, { ...init, signal: null }),
    { schedule: clock.schedule },
    constantLegs(50_000),
  );
  const engine = createTestEngine({
    apiKey,
    baseUrl,
    clock,
    fetch: (input, init) => deaf(input, { ...init, signal: null }),
  });
  const failure = failureOf(engine.execute(probe.query, {}, { deadlineMs: 1_000 }));
  await clock.advance(1_000);
  expect(await failure).toMatchObject({ code: "DEADLINE_EXCEEDED" });
  await clock.advance(200_000);
});
