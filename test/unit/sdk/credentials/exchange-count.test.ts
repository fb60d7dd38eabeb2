import { describe, expect, it } from "vitest";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { constantLegs, createEngineFixture, openEngine } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { withLatency } from "../../../support/latency.ts";
import { codeOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

// How often a key is exchanged is counted where the exchanges arrive.

const key = "key_1234567890";

function isExchange(init: RequestInit | undefined): boolean {
  return String(init?.body).includes("ExchangeApiKey");
}

/** A client of a service whose exchanges get this response, after 20 ms. */
function setUp(exchange: Fetch) {
  const service = createFakeService();
  const { clock } = service;
  let exchanges = 0;
  const respond: Fetch = (url, init) => {
    if (!isExchange(init)) return service.fetch(url, init);
    exchanges += 1;
    return exchange(url, init) as Promise<Response>;
  };
  const fetch = withLatency(respond as typeof service.fetch, clock, constantLegs(20));
  const engine = openEngine(service, { apiKey: key, random: () => 0.5, fetch });
  return { clock, engine, exchanges: () => exchanges };
}

describe("the number of exchanges", () => {
  it("is that of the budget when one of two replicas rejects every token, and all calls succeed", async () => {
    let requests = 0;
    const rejected = { errors: [{ message: "x", extensions: { code: "UNAUTHENTICATED" } }] };
    const { service, engine } = createEngineFixture({
      legs: constantLegs(20),
      fault: () => (requests++ % 2 === 1 ? { type: "rejection", body: rejected } : undefined),
    });
    const codes: Promise<string>[] = [];
    for (let call = 0; call < 40; call += 1) {
      codes.push(codeOf(engine.execute(probe.query, {})));
      await service.clock.advance(100);
    }
    await service.clock.advance(1_000);
    expect(new Set(await Promise.all(codes))).toEqual(new Set(["no error"]));
    expect(service.log.exchanges).toBe(1 + 5);
  });

  it.each<[string, Fetch]>([
    ["200 without a token", async () => Response.json({ data: {} })],
    ["400", async () => new Response("no", { status: 400 })],
    ["a page", async () => new Response("<html></html>", { headers: { "content-type": "text/html" } })],
  ])("is one per 5 s while the exchange gets %s, whatever the number of calls", async (_, respond) => {
    const { clock, engine, exchanges } = setUp(respond);
    const codes: Promise<string>[] = [];
    for (let tick = 0; tick < 100; tick += 1) {
      codes.push(codeOf(engine.execute(probe.query, {})));
      await clock.advance(100);
    }
    await clock.advance(1_000);
    expect(await Promise.all(codes)).not.toContain("no error");
    expect(exchanges()).toBe(2);
    expect(clock.pending().timers).toBe(0);
  });

  const lost: Fetch = async () => {
    throw new TypeError("fetch failed");
  };

  it.each<[string, string, Fetch]>([
    ["a 500", "SERVICE_UNAVAILABLE", async () => new Response("", { status: 500 })],
    ["no response", "NETWORK_FAILED", lost],
  ])("is that of one call when ten wait for an exchange that gets %s", async (_, code, respond) => {
    const { clock, engine, exchanges } = setUp(respond);
    const codes = Array.from({ length: 10 }, () => codeOf(engine.execute(probe.query, {})));
    await clock.advance(4_000);
    expect(new Set(await Promise.all(codes))).toEqual(new Set([code]));
    expect(exchanges()).toBe(4);
  });

  it("is one per call at most when a token lives hardly longer than a round trip", async () => {
    const { service, engine } = createEngineFixture({
      tokenTtlSeconds: 1,
      legs: constantLegs(900),
      client: { rateLimit: false },
    });
    const calls = Array.from({ length: 20 }, () => codeOf(engine.execute(probe.query, {})));
    await service.clock.advance(10_000);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["no error"]));
    for (let call = 0; call < 20; call += 1) {
      const next = codeOf(engine.execute(probe.query, {}));
      await service.clock.advance(10_000);
      expect(await next).toBe("no error");
    }
    expect(service.log.exchanges).toBeLessThanOrEqual(21);
  });
});

describe("an exchange that no call waits for", () => {
  it("ends after timeoutMs and is not repeated", async () => {
    const ended: unknown[] = [];
    const { clock, engine, exchanges } = setUp(
      (_, init) =>
        new Promise((_resolve, reject) => {
          init.signal.addEventListener("abort", () => {
            ended.push(clock.monotonic());
            reject(init.signal.reason);
          });
        }),
    );
    const startedAtMs = clock.monotonic();
    const code = codeOf(engine.execute(probe.query, {}, { deadlineMs: 200 }));
    await clock.advance(200);
    expect(await code).toBe("DEADLINE_EXCEEDED");
    await clock.advance(15_000);
    expect(clock.pending().timers).toBe(0);
    expect(ended).toEqual([startedAtMs + 15_000]);
    expect(exchanges()).toBe(1);
  });

  it("still reaches the next call when it takes longer than the deadline of the call before", async () => {
    const { service, engine } = createEngineFixture({ legs: constantLegs(800) });
    const first = codeOf(engine.execute(probe.query, {}, { deadlineMs: 200 }));
    await service.clock.advance(1_000);
    expect(await first).toBe("DEADLINE_EXCEEDED");
    const second = codeOf(engine.execute(probe.query, {}, { deadlineMs: 900 }));
    await service.clock.advance(1_000);
    expect(await second).toBe("no error");
    expect(service.log.exchanges).toBe(1);
  });

  it("is sent once when it refreshes a token and fails, and calls continue with the token", async () => {
    let isBroken = false;
    let failed = 0;
    const service = createFakeService();
    const { clock } = service;
    const fetch: Fetch = async (url, init) => {
      if (!isBroken || !isExchange(init)) return service.fetch(url, init);
      failed += 1;
      return new Response("", { status: 503 });
    };
    const engine = openEngine(service, { fetch });
    await engine.execute(probe.query, {});
    await clock.advance(150_000);
    isBroken = true;
    for (let second = 0; second < 20; second += 1) {
      await engine.execute(probe.query, {});
      await clock.advance(1_000);
    }
    expect(failed).toBe(4);
    isBroken = false;
    await clock.advance(5_000);
    await engine.execute(probe.query, {});
    expect(service.log).toMatchObject({ exchanges: 2, rejected401: 0 });
  });
});

describe("a key function that does not return", () => {
  it("ends after timeoutMs", async () => {
    const service = createFakeService();
    const { clock } = service;
    const engine = openEngine(service, { apiKey: () => new Promise(() => {}) });
    const code = codeOf(engine.execute(probe.query, {}, { deadlineMs: 100 }));
    await clock.advance(100);
    expect(await code).toBe("DEADLINE_EXCEEDED");
    await clock.advance(15_000);
    expect(clock.pending().timers).toBe(0);
  });
});
