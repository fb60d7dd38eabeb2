import { describe, expect, it } from "vitest";
import {
  constantLegs,
  createEngineFixture,
  createTestEngine,
  openEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

const minuteMs = 60_000;

describe("the token of a key", () => {
  it.each([400, 3_000])(
    "the token is refreshed in the background, so that no call of a steady stream waits for an exchange of %i ms",
    async (latencyMs) => {
      const { service, engine } = createEngineFixture({ legs: constantLegs(latencyMs) });
      const durations: number[] = [];
      for (let tick = 0; tick < 120; tick += 1) {
        const startedAtMs = service.clock.monotonic();
        void engine
          .execute(probe.query, {})
          .then(() => durations.push(service.clock.monotonic() - startedAtMs));
        await service.clock.advance(5_000);
      }
      expect(service.log.exchanges).toBeGreaterThanOrEqual(4);
      // The calls during the first exchange pay for it.
      expect(durations.slice(1)).toEqual(Array(119).fill(latencyMs));
    },
  );

  it.each([1, 2, 10, 1_800])(
    "the token with a lifetime of %i seconds is replaced before it expires, and not much earlier",
    async (ttl) => {
      const { service, engine } = createEngineFixture({ tokenTtlSeconds: ttl, legs: constantLegs(10) });
      const calls: Promise<unknown>[] = [];
      for (let tick = 0; tick < 100; tick += 1) {
        calls.push(engine.execute(probe.query, {}));
        await service.clock.advance(600);
      }
      await Promise.all(calls);
      expect(service.log.rejected401).toBe(0);
      expect(service.log.exchanges).toBeLessThanOrEqual(Math.ceil(60 / (0.8 * ttl)) + 1);
    },
  );

  it("the token is checked again after queueing", async () => {
    const { service, engine } = createEngineFixture({ tokenTtlSeconds: 20 });
    const calls = Array.from({ length: 360 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(3 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 360, rejected401: 0, rejected429: 0 });
  });

  it("a call that gets no other token after queueing gives its permit back", async () => {
    let isAvailable = true;
    const service = createFakeService({ tokenTtlSeconds: 20 });
    const engine = openEngine(service, {
      rateLimit: { requests: 1 },
      apiKey() {
        if (isAvailable) return service.apiKey;
        throw new Error("the vault is closed");
      },
    });
    const first = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await first;
    isAvailable = false;
    const second = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(50_000);
    expect(service.log.exchanges).toBe(1);
    await service.clock.advance(10_000);
    expect(await second).toBe("API_KEY_UNAVAILABLE");
    expect(engine.rateLimitSnapshot()).toMatchObject({ used: 0, nextSlotInMs: 0 });
    isAvailable = true;
    const third = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await third;
    expect(service.log).toMatchObject({ accepted: 2, exchanges: 2, rejected401: 0 });
  });

  it("the token reaches all calls that share its exchange, also when the first of them is aborted", async () => {
    const { service, engine } = createEngineFixture();
    const controller = new AbortController();
    const first = codeOf(engine.execute(probe.query, {}, { signal: controller.signal }));
    const second = engine.execute(probe.query, {});
    await service.clock.settle();
    controller.abort();
    await service.clock.advance(1_000);
    expect(await first).toBe("ABORTED");
    await second;
    expect(service.log.exchanges).toBe(1);
  });
});

describe("the API key", () => {
  it("the API key fails every call when the service rejects it, with one exchange for a burst", async () => {
    const { service, engine } = createEngineFixture({ client: { apiKey: "wrong_key_123456" } });
    const burst = Promise.all(Array.from({ length: 200 }, () => codeOf(engine.execute(probe.query, {}))));
    await service.clock.advance(1_000);
    expect(new Set(await burst)).toEqual(new Set(["API_KEY_REJECTED"]));
    for (let each = 0; each < 50; each += 1) await codeOf(engine.execute(probe.query, {}));
    expect(service.log.exchanges).toBe(1);
    const later = codeOf(engine.execute(probe.query, {}).finally(() => {}));
    await service.clock.advance(11_000);
    expect(await later).toBe("API_KEY_REJECTED");
    const again = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await again).toBe("API_KEY_REJECTED");
    expect(service.log.exchanges).toBe(2);
  });

  it("the API key can be a function, whose rotated key is used although the old one was rejected", async () => {
    let current = "old_key_123456";
    const { service, engine } = createEngineFixture({
      legs: constantLegs(10),
      client: { apiKey: async () => current },
    });
    const { clock } = service;
    const before = codeOf(engine.execute(probe.query, {}));
    await clock.advance(100);
    expect(await before).toBe("API_KEY_REJECTED");
    current = service.apiKey;
    const after = codeOf(engine.execute(probe.query, {}));
    await clock.advance(100);
    expect(await after).toBe("no error");
  });

  const throws = () => {
    throw new Error("no vault");
  };
  const failingSources: readonly (readonly [string, string, () => string | Promise<string>])[] = [
    ["API_KEY_UNAVAILABLE", "rejects", () => Promise.reject(new Error("vault is sealed"))],
    ["API_KEY_UNAVAILABLE", "throws", throws],
    ["CONFIGURATION_INVALID", "returns nothing", () => undefined as unknown as string],
    ["CONFIGURATION_INVALID", "returns a line end", () => "key_123456\n"],
  ];
  it.each(failingSources)("the API key is %s when its function %s", async (code, _, apiKey) => {
    const { service, engine } = createEngineFixture({ client: { apiKey } });
    const failure = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await failure).toBe(code);
    expect(service.log.exchanges).toBe(0);
  });

  it("the API key is read again after its function did not return within timeoutMs", async () => {
    const service = createFakeService();
    const { clock } = service;
    let calls = 0;
    const apiKey = () => (calls++ === 0 ? new Promise<string>(() => {}) : service.apiKey);
    const engine = openEngine(service, { apiKey, timeoutMs: 4_000 });
    const first = failureOf(engine.execute(probe.mutation, {}));
    await clock.advance(1_000);
    const joined = failureOf(engine.execute(probe.query, {}, { deadlineMs: 1_000 }));
    await clock.advance(1_000);
    expect(await joined).toMatchObject({ code: "DEADLINE_EXCEEDED", outcome: "not_sent" });
    await clock.advance(2_000);
    expect(await first).toMatchObject({ code: "API_KEY_UNAVAILABLE", outcome: "not_sent", attempts: 0 });
    expect((await first).message).toContain("did not return within timeoutMs (4000)");
    const next = codeOf(engine.execute(probe.query, {}));
    await clock.advance(1_000);
    expect(await next).toBe("no error");
    expect(calls).toBe(2);
    expect(clock.pending().timers).toBe(0);
  });
});

describe("a failed exchange", () => {
  it.each(["to\nken", "token\n", "", null, 12])(
    "a failed exchange that returns the token %j is RESPONSE_INVALID and names the exchange",
    async (workspaceToken) => {
      const tokens = { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken } };
      const fetch = async () => Response.json({ data: tokens });
      const engine = openEngine(createFakeService(), { fetch });
      const failure = await failureOf(engine.execute(probe.mutation, {}));
      expect(failure).toMatchObject({ code: "RESPONSE_INVALID", outcome: "not_sent", attempts: 0 });
      expect(failure.httpStatus).toBe(200);
      expect(failure.message).toContain("apiKey exchange: expected a token without spaces or line ends");
    },
  );

  it.each([
    [probe.query, "apiKey", "baseUrl"],
    [{ ...probe.query, router: "gateway" as const }, "partnerApiKey", "gatewayUrl"],
  ])(
    "a failed exchange at the address of the other router names the option, of %j",
    async (operation, name, option) => {
      const extensions = { code: "GRAPHQL_VALIDATION_FAILED" };
      const fetch = async () =>
        Response.json({ errors: [{ message: 'Cannot query field "x" on type "Mutation".', extensions }] });
      const keys = { apiKey: "key_0987654321", partnerApiKey: "pk_0987654321" };
      const urls = { baseUrl: "http://localhost:1", gatewayUrl: "http://localhost:2" };
      const { code, message } = await failureOf(
        createTestEngine({ ...keys, ...urls, fetch }).execute(operation, {}),
      );
      expect(code).toBe("DOCUMENT_INVALID");
      expect(message).toMatch(new RegExp(`${name} exchange: Cannot query field .+; check ${option}$`));
    },
  );

  it("a failed exchange is repeated, and the calls that wait for it succeed", async () => {
    const service = createFakeService();
    const { clock } = service;
    let broken = 2;
    const engine = openEngine(service, {
      random: () => 0.5,
      fetch: async (input, init) =>
        broken-- > 0 ? new Response("bad", { status: 502 }) : service.fetch(input, init),
    });
    const calls = Array.from({ length: 20 }, () => engine.execute(probe.mutation, { ref: "r" }));
    await clock.advance(2_000);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ exchanges: 1, accepted: 20 });
  });
});

describe("a rejection of the token", () => {
  it.each([
    ["HTTP 401 without a body", { type: "status", status: 401 } as const],
    ["me: null without an error", { type: "response", body: { data: { me: null } } } as const],
    [
      "UNAUTHENTICATED in a 200",
      {
        type: "response",
        body: { errors: [{ message: "x", extensions: { code: "UNAUTHENTICATED" } }] },
      } as const,
    ],
  ])("a rejection of the token by %s is repeated with one fresh token", async (_, rejection) => {
    let wasRejected = false;
    const { service, engine } = createEngineFixture({
      fault() {
        if (wasRejected) return undefined;
        wasRejected = true;
        return rejection;
      },
    });
    const call = codeOf(engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    expect(await call).toBe("no error");
    expect(service.log).toMatchObject({ exchanges: 2, accepted: 2 });
  });
});

describe("a token for uploads", () => {
  it("a token for uploads is not counted against the rate limit, and only the rejected one is dropped", async () => {
    const { service, engine } = createEngineFixture();
    const first = engine.workspaceToken();
    await service.clock.advance(200);
    const { token, replace } = await first;
    expect((await engine.workspaceToken()).token).toBe(token);
    expect(replace()).toBe(true);
    const second = engine.workspaceToken();
    await service.clock.advance(200);
    expect((await second).token).not.toBe(token);
    expect(replace()).toBe(true);
    expect((await engine.workspaceToken()).token).toBe((await second).token);
    expect(service.log).toMatchObject({ exchanges: 2, accepted: 0 });
  });
});
