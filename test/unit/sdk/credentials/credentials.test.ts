import { describe, expect, it } from "vitest";
import { constantLegs, createEngineFixture, createTestEngine } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { withLatency } from "../../../support/latency.ts";
import { codeOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

const minuteMs = 60_000;

describe("the token", () => {
  it("costs at most 25 exchanges an hour at two calls a second", async () => {
    const { service, engine } = createEngineFixture();
    const calls: Promise<unknown>[] = [];
    for (let tick = 0; tick < 2 * 3_600; tick += 1) {
      calls.push(engine.execute(probe.query, {}));
      await service.clock.advance(500);
    }
    await service.clock.advance(minuteMs);
    await Promise.all(calls);
    expect(service.books.exchanges).toBeLessThanOrEqual(25);
    expect(service.books).toMatchObject({ accepted: 7_200, refused401: 0, refused429: 0 });
  });

  it("is exchanged once for a cold burst", async () => {
    const { service, engine } = createEngineFixture();
    const calls = Array.from({ length: 100 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(calls);
    expect(service.books.exchanges).toBe(1);
  });

  it("is refreshed in the background: no call waits for an exchange while traffic is steady", async () => {
    const { service, engine } = createEngineFixture({ legs: constantLegs(400) });
    const durations: number[] = [];
    for (let tick = 0; tick < 120; tick += 1) {
      const startedAtMs = service.clock.monotonic();
      void engine
        .execute(probe.query, {})
        .then(() => durations.push(service.clock.monotonic() - startedAtMs));
      await service.clock.advance(5_000);
    }
    expect(service.books.exchanges).toBeGreaterThanOrEqual(4);
    expect(durations).toHaveLength(120);
    // The first call pays for the first exchange.
    expect(durations.slice(1).every((durationMs) => durationMs === 400)).toBe(true);
  });

  it.each([1, 2, 10, 1_800])(
    "of %i seconds is neither used too long nor replaced all the time",
    async (ttl) => {
      const { service, engine } = createEngineFixture({ tokenTtlSeconds: ttl, legs: constantLegs(10) });
      const calls: Promise<unknown>[] = [];
      for (let tick = 0; tick < 100; tick += 1) {
        calls.push(engine.execute(probe.query, {}));
        await service.clock.advance(600);
      }
      await Promise.all(calls);
      expect(service.books.refused401).toBe(0);
      expect(service.books.exchanges).toBeLessThanOrEqual(Math.ceil(60 / (0.8 * ttl)) + 1);
    },
  );

  it.each([-6 * 3_600_000, -90_000, 90_000, 6 * 3_600_000])(
    "is judged right although the service's clock is %i ms off",
    async (skewMs) => {
      const { service, engine } = createEngineFixture({ skewMs });
      const calls: Promise<unknown>[] = [];
      for (let tick = 0; tick < 60; tick += 1) {
        calls.push(engine.execute(probe.query, {}));
        await service.clock.advance(10_000);
      }
      await Promise.all(calls);
      expect(service.books).toMatchObject({ refused401: 0, exchanges: 4 });
    },
  );

  it("survives a local clock that jumps", async () => {
    const { service, engine } = createEngineFixture();
    const calls: Promise<unknown>[] = [];
    for (let tick = 0; tick < 60; tick += 1) {
      calls.push(engine.execute(probe.query, {}));
      await service.clock.advance(5_000);
      service.clock.setNow(service.clock.now() + (tick % 2 === 0 ? 1 : -1) * tick * 3_600_000);
    }
    await Promise.all(calls);
    expect(service.books.refused401).toBe(0);
    expect(service.books.exchanges).toBeLessThanOrEqual(3);
  });

  it("revoked with 100 calls in flight costs one exchange and loses no call", async () => {
    let late = 0;
    const { service, engine } = createEngineFixture({
      // The answers come back over 700 ms, so that old refusals arrive long after the new token.
      legs: () => ({ forwardMs: 50, backwardMs: (late++ % 100) * 7 }),
    });
    const warm = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await warm;
    const calls = Array.from({ length: 100 }, () => engine.execute(probe.mutation, { ref: "r" }));
    await service.clock.settle();
    service.revokeTokens();
    await service.clock.advance(2 * minuteMs);
    expect(await Promise.all(calls.map(codeOf))).toEqual(Array(100).fill("no error"));
    expect(service.books.refused401).toBe(100);
    expect(service.books.exchanges).toBe(2);
    expect(service.books.applied).toHaveLength(100);
  });

  it("is looked at again after the queue", async () => {
    const { service, engine } = createEngineFixture({ tokenTtlSeconds: 20 });
    const calls = Array.from({ length: 360 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(3 * minuteMs);
    await Promise.all(calls);
    expect(service.books).toMatchObject({ accepted: 360, refused401: 0, refused429: 0 });
  });

  it("of an exchange whose first caller gave up still serves the others", async () => {
    const { service, engine } = createEngineFixture();
    const controller = new AbortController();
    const first = codeOf(engine.execute(probe.query, {}, { signal: controller.signal }));
    const second = engine.execute(probe.query, {});
    await service.clock.settle();
    controller.abort();
    await service.clock.advance(1_000);
    expect(await first).toBe("ABORTED");
    await second;
    expect(service.books.exchanges).toBe(1);
  });
});

describe("the key", () => {
  it("that was refused fails every call, and a burst of them asks once", async () => {
    const { service, engine } = createEngineFixture({ client: { apiKey: "wrong_key_123456" } });
    const burst = Promise.all(Array.from({ length: 200 }, () => codeOf(engine.execute(probe.query, {}))));
    await service.clock.advance(1_000);
    expect(new Set(await burst)).toEqual(new Set(["API_KEY_REJECTED"]));
    for (let each = 0; each < 50; each += 1) await codeOf(engine.execute(probe.query, {}));
    expect(service.books.exchanges).toBe(1);
    const later = codeOf(engine.execute(probe.query, {}).finally(() => {}));
    await service.clock.advance(11_000);
    expect(await later).toBe("API_KEY_REJECTED");
    const again = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await again).toBe("API_KEY_REJECTED");
    expect(service.books.exchanges).toBe(2);
  });

  it("may come from a function, and a rotated key is taken up although the old one was refused", async () => {
    const service = createFakeService();
    let current = "old_key_123456";
    const { baseUrl, clock } = service;
    const fetch = withLatency(service.fetch, clock, constantLegs(10));
    const engine = createTestEngine({ apiKey: async () => current, baseUrl, clock, fetch });
    const before = codeOf(engine.execute(probe.query, {}));
    await clock.advance(100);
    expect(await before).toBe("API_KEY_REJECTED");
    current = service.apiKey;
    const after = codeOf(engine.execute(probe.query, {}));
    await clock.advance(100);
    expect(await after).toBe("no error");
  });

  const failingSources: readonly (readonly [string, () => string | Promise<string>])[] = [
    ["throws", () => Promise.reject(new Error("vault is sealed"))],
    ["gives nothing", () => undefined as unknown as string],
    ["gives a line end", () => "key_123456\n"],
  ];
  it.each(failingSources)("whose function %s is a configuration error", async (_, apiKey) => {
    const { service, engine } = createEngineFixture({ client: { apiKey } });
    const failure = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await failure).toBe("CONFIGURATION_INVALID");
    expect(service.books.exchanges).toBe(0);
  });
});

describe("a failing exchange", () => {
  it("is repeated; the calls behind it succeed when it recovers", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    let broken = 2;
    const engine = createTestEngine({
      apiKey,
      baseUrl,
      clock,
      random: () => 0.5,
      fetch: async (input, init) =>
        broken-- > 0 ? new Response("bad", { status: 502 }) : service.fetch(input, init),
    });
    const calls = Array.from({ length: 20 }, () => engine.execute(probe.mutation, { ref: "r" }));
    await clock.advance(2_000);
    await Promise.all(calls);
    expect(service.books).toMatchObject({ exchanges: 1, accepted: 20 });
  });

  it("for good ends as the exchange's failure: the mutation was not sent", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    let asked = 0;
    const engine = createTestEngine({
      apiKey,
      baseUrl,
      clock,
      fetch: async () => {
        asked += 1;
        return new Response("<html>maintenance</html>", { status: 503 });
      },
    });
    const failure = engine.execute(probe.mutation, { ref: "r" }).catch((error: unknown) => error);
    await clock.advance(minuteMs);
    expect(await failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", outcome: "not_sent", attempts: 0 });
    expect(asked).toBe(4);
  });

  it("in the background leaves the token in hand at work until it ends", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    let exchangesFail = false;
    const engine = createTestEngine({
      apiKey,
      baseUrl,
      clock,
      maxRetries: 0,
      fetch: async (input, init) =>
        exchangesFail && String(init?.body).includes("ExchangeApiKey")
          ? new Response("", { status: 500 })
          : service.fetch(input, init),
    });
    const codes: Promise<string>[] = [codeOf(engine.execute(probe.query, {}))];
    await clock.advance(1_000);
    exchangesFail = true;
    for (let second = 1; second < 165; second += 1) {
      codes.push(codeOf(engine.execute(probe.query, {})));
      await clock.advance(1_000);
    }
    exchangesFail = false;
    await clock.advance(20_000);
    codes.push(codeOf(engine.execute(probe.query, {})));
    await clock.advance(1_000);
    expect(new Set(await Promise.all(codes))).toEqual(new Set(["no error"]));
  });
});

describe("a permission that is missing", () => {
  it("is told from a token that ended: one fresh token is tried, then no more", async () => {
    const unauthorized = { errors: [{ message: "Unauthorized" }], data: null };
    const { service, engine } = createEngineFixture({
      fault: (operation) =>
        operation === "ProbeMutation" ? { type: "answer", body: unauthorized } : undefined,
    });
    for (let each = 0; each < 10; each += 1) {
      const failure = engine.execute(probe.mutation, {}).catch((error: unknown) => error);
      await service.clock.advance(1_000);
      expect(await failure).toMatchObject({
        name: "PermissionError",
        code: "PERMISSION_DENIED",
        outcome: "rejected",
      });
    }
    expect(service.books.exchanges).toBe(2);
    const other = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await other).toBe("no error");
  });

  it("with code FORBIDDEN costs no exchange at all", async () => {
    const errors = [{ message: "Unauthorized", extensions: { code: "FORBIDDEN" } }];
    const { service, engine } = createEngineFixture({
      fault: () => ({ type: "answer", body: { errors, data: null } }),
    });
    const failure = codeOf(engine.execute(probe.mutation, {}));
    await service.clock.advance(1_000);
    expect(await failure).toBe("PERMISSION_DENIED");
    expect(service.books).toMatchObject({ exchanges: 1, accepted: 1 });
  });

  it.each([
    ["HTTP 401 without a body", { type: "status", status: 401 } as const],
    ["me: null without an error", { type: "answer", body: { data: { me: null } } } as const],
    [
      "UNAUTHENTICATED in a 200",
      {
        type: "answer",
        body: { errors: [{ message: "x", extensions: { code: "UNAUTHENTICATED" } }] },
      } as const,
    ],
  ])("%s is answered with one fresh token", async (_, refusal) => {
    let refused = false;
    const { service, engine } = createEngineFixture({
      fault() {
        if (refused) return undefined;
        refused = true;
        return refusal;
      },
    });
    const call = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await call).toBe("no error");
    expect(service.books).toMatchObject({ exchanges: 2, accepted: 2 });
  });
});

describe("a token for uploads", () => {
  it("comes without touching the allowance, and only the failed one is dropped", async () => {
    const { service, engine } = createEngineFixture();
    const first = engine.workspaceToken();
    await service.clock.advance(200);
    const { token, invalidate } = await first;
    expect((await engine.workspaceToken()).token).toBe(token);
    invalidate();
    const second = engine.workspaceToken();
    await service.clock.advance(200);
    expect((await second).token).not.toBe(token);
    invalidate();
    expect((await engine.workspaceToken()).token).toBe((await second).token);
    expect(service.books).toMatchObject({ exchanges: 2, accepted: 0 });
  });
});
