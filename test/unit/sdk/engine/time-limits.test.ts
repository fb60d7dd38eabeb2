import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { CreateClientOptions } from "../../../../sdk/options.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { constantLegs, createEngineFixture, openEngine, probe } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { failureOf } from "../../../support/outcome-of.ts";

function engineWith(given: Fetch, options: Partial<CreateClientOptions> = {}) {
  let requests = 0;
  const respond: Fetch = (input, init) => {
    requests += 1;
    return given(input, init);
  };
  const service = createFakeService({ respond });
  const engine = openEngine(service, { random: () => 0.5, ...options });
  return { engine, clock: service.clock, requests: () => requests };
}

const never: Fetch = () => new Promise(() => {});

describe("timeoutMs", () => {
  it.each([
    ["so that its connection is closed", () => {}],
    ["which may fail", () => Promise.reject(new Error("not now"))],
  ])("timeoutMs ends a call whose response body stalls, and cancels the body, %s", async (_, end) => {
    let cancelled = false;
    const cancel = () => {
      cancelled = true;
      return end();
    };
    const stalled = () =>
      new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('{"data":')), cancel });
    const { engine, clock, requests } = engineWith(async () => new Response(stalled()));
    const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 800 }));
    await clock.advance(799);
    expect([requests(), cancelled]).toEqual([1, false]);
    await clock.advance(1);
    expect(await failure).toMatchObject({ code: "REQUEST_TIMEOUT", outcome: "unknown", attempts: 1 });
    expect([cancelled, clock.pending().timers]).toEqual([true, 0]);
  });

  it("timeoutMs cancels the body of a response that arrives later", async () => {
    const late: { respond?: (response: Response) => void; cancelled?: boolean } = {};
    const { engine, clock } = engineWith(
      () => new Promise((resolve) => Object.assign(late, { respond: resolve })),
    );
    const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 800 }));
    await clock.advance(800);
    await failure;
    const cancel = () => void Object.assign(late, { cancelled: true });
    late.respond?.(new Response(new ReadableStream({ cancel })));
    await clock.settle();
    expect(late.cancelled).toBe(true);
  });

  it("timeoutMs ends a token exchange, and the mutation that waits for it was not sent", async () => {
    const service = createFakeService();
    const engine = openEngine(service, { fetch: never, timeoutMs: 500, maxRetries: 1 });
    const failure = failureOf(engine.execute(probe.mutation, {}));
    await service.clock.advance(5_000);
    expect(await failure).toMatchObject({ code: "REQUEST_TIMEOUT", outcome: "not_sent", attempts: 0 });
  });
});

describe("deadlineMs", () => {
  it("deadlineMs limits retries to the millisecond, and no pause exceeds it", async () => {
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

  it("deadlineMs fails a call at once when its permit would come too late", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(5_000);
    await Promise.all(calls);
    const startedAtMs = service.clock.monotonic();
    const failure = await failureOf(engine.execute(probe.mutation, {}, { deadlineMs: 30_000 }));
    expect(failure).toMatchObject({ code: "RATE_LIMIT_WAIT_EXCEEDED", outcome: "not_sent" });
    expect(service.clock.monotonic()).toBe(startedAtMs);
  });

  it("deadlineMs limits a wait that was not predictable", async () => {
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
});

describe("the signal of a call", () => {
  it("the signal of a call has no listener after 1,000 calls", async () => {
    const { service, engine } = createEngineFixture({
      limit: 2_000,
      client: { rateLimit: { requests: 2_000 } },
    });
    const { signal } = new AbortController();
    for (let batch = 0; batch < 10; batch += 1) {
      const calls = Array.from({ length: 100 }, () => engine.execute(probe.query, {}, { signal }));
      await service.clock.advance(5_000);
      await Promise.all(calls);
    }
    expect(service.log.accepted).toBe(1_000);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("the signal of a call can be that of many concurrent calls, without a warning of Node", async () => {
    const { service, engine } = createEngineFixture();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const controller = new AbortController();
    const { signal } = controller;
    const failures = Array.from({ length: 50 }, () => failureOf(engine.execute(probe.query, {}, { signal })));
    expect(getEventListeners(signal, "abort")).toHaveLength(50);
    controller.abort();
    expect(new Set((await Promise.all(failures)).map(({ code }) => code))).toEqual(new Set(["ABORTED"]));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await service.clock.advance(1_000);
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("the signal of a call sends nothing and uses no slot when it was aborted before, although both are available", async () => {
    const { service, engine } = createEngineFixture();
    const warm = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await warm;
    const cause = new Error("user left");
    const call = engine.execute(probe.mutation, {}, { signal: AbortSignal.abort(cause) });
    expect(await failureOf(call)).toMatchObject({ code: "ABORTED", outcome: "not_sent", attempts: 0, cause });
    expect(engine.rateLimitSnapshot()).toMatchObject({ used: 1, queued: 0 });
    expect(service.log).toMatchObject({ exchanges: 1, accepted: 1 });
  });

  it("the signal of a call ends a request in flight, with outcome unknown", async () => {
    const { service, engine } = createEngineFixture();
    const controller = new AbortController();
    const warm = engine.workspaceToken();
    await service.clock.advance(100);
    await warm;
    const failure = failureOf(engine.execute(probe.mutation, { ref: "m" }, { signal: controller.signal }));
    await service.clock.advance(60);
    controller.abort();
    expect(await failure).toMatchObject({ code: "ABORTED", outcome: "unknown", attempts: 1 });
    expect(service.log.applied).toEqual(["m"]);
    await service.clock.advance(1_000);
    expect(service.clock.pending().timers).toBe(0);
  });

  it("the signal of a call ends a pause between two attempts", async () => {
    const { engine, clock } = engineWith(async () => new Response("no", { status: 503 }));
    const controller = new AbortController();
    const failure = failureOf(engine.execute(probe.query, {}, { signal: controller.signal }));
    await clock.advance(10);
    controller.abort();
    expect(await failure).toMatchObject({ code: "ABORTED", attempts: 1 });
    expect(clock.pending().timers).toBe(0);
  });
});

describe("closing the client", () => {
  it("close() rejects new calls, ends waiting ones, and lets those in flight finish", async () => {
    const { service, engine } = createEngineFixture();
    const first = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(70_000);
    await Promise.all(first);
    const calls = Array.from({ length: 130 }, () => engine.execute(probe.query, {}));
    const settled = Promise.allSettled(calls);
    await service.clock.advance(50);
    const closing = engine.close();
    expect(await failureOf(engine.execute(probe.query, {}))).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(await failureOf(engine.workspaceToken())).toMatchObject({ code: "CLIENT_CLOSED" });
    await service.clock.advance(1_000);
    await closing;
    const results = await settled;
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(120);
    expect(service.clock.pending().timers).toBe(0);
  });

  it("close() ends a token exchange that hangs", async () => {
    const service = createFakeService();
    const engine = openEngine(service, { fetch: never });
    const failure = failureOf(engine.execute(probe.query, {}));
    await service.clock.settle();
    await engine.close();
    expect(await failure).toMatchObject({ code: "CLIENT_CLOSED", outcome: "not_sent" });
    expect(service.clock.pending().timers).toBe(0);
  });

  it("close() ends a call in flight after the client's timeoutMs, although the call has a longer limit", async () => {
    const { engine, clock } = engineWith(() => new Promise(() => {}), { timeoutMs: 5_000 });
    const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 3_600_000 }));
    await clock.advance(100);
    let isClosed = false;
    const closing = engine.close().then(() => {
      isClosed = true;
    });
    await clock.advance(4_999);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    await closing;
    expect(await failure).toMatchObject({ code: "CLIENT_CLOSED", outcome: "unknown", attempts: 1 });
    expect(clock.pending().timers).toBe(0);
  });
});

const asking = (status: number, retryAfter: string): Fetch => {
  return async () => new Response("", { status, headers: { "retry-after": retryAfter } });
};

describe("a Retry-After that is longer than a call should wait", () => {
  it("of a 503 fails a query at once and says when to try again", async () => {
    const { engine, clock } = engineWith(asking(503, "86400"));
    const failure = failureOf(engine.execute(probe.query, {}));
    await clock.advance(100);
    const retryAfterMs = 86_400_000;
    expect(await failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", retryAfterMs, attempts: 1 });
    expect((await failure).message).toMatch(/asks to wait 86400 s/);
    expect(clock.pending().timers).toBe(0);
  });

  it("of a 429 fails a call at once without a rate limit", async () => {
    const { engine, clock } = engineWith(asking(429, "86400"), { rateLimit: false });
    const failure = failureOf(engine.execute(probe.mutation, {}));
    await clock.advance(100);
    expect(await failure).toMatchObject({
      code: "RATE_LIMITED",
      outcome: "rejected",
      retryAfterMs: 86_400_000,
    });
  });

  it("of a token exchange fails the calls that wait for it", async () => {
    const service = createFakeService();
    const engine = openEngine(service, { fetch: asking(503, "86400") });
    const failure = failureOf(engine.execute(probe.query, {}));
    await service.clock.advance(100);
    expect(await failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", outcome: "not_sent" });
    expect((await failure).retryAfterMs).toBe(86_400_000);
  });
});
