import { describe, expect, it } from "vitest";
import { tokenLifetimeMs } from "../../../../sdk/credentials/credentials.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import {
  constantLegs,
  createEngineFixture,
  createTestEngine,
  openEngine,
  probe,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import {
  createFakeService,
  type FakeService,
  type Fault,
  withLatency,
} from "../../../support/fake-service.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";

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

  it("the API key of a function is read at each exchange, and used although the one before was rejected", async () => {
    const service = createFakeService();
    const { clock } = service;
    let reads = 0;
    let key = service.apiKey;
    const apiKey = async () => {
      reads += 1;
      return key;
    };
    const engine = openEngine(service, { apiKey });
    const pollFor = async (ticks: number) => {
      const codes: string[] = [];
      for (let tick = 0; tick < ticks; tick += 1) {
        codes.push(await codeOf(engine.execute(probe.query, {})));
        await clock.advance(10_000);
      }
      return codes;
    };
    expect(new Set(await pollFor(60))).toEqual(new Set(["no error"]));
    expect(reads).toBe(service.log.exchanges);
    key = "rotated_key_123456";
    expect((await pollFor(30)).at(-1)).toBe("API_KEY_REJECTED");
    key = service.apiKey;
    expect(await pollFor(1)).toEqual(["no error"]);
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

it("a key in quotes that the function returns is CONFIGURATION_INVALID, and sends nothing", async () => {
  const service = createFakeService();
  const engine = openEngine(service, { apiKey: () => `"${service.apiKey}"` });
  const failure = await failureOf(engine.execute(probe.query, {}));
  expect(failure).toMatchObject({ code: "CONFIGURATION_INVALID", outcome: "not_sent", attempts: 0 });
  expect(failure.message).toContain("is in quotes, which docker --env-file keeps");
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

describe("the lifetime of a token", () => {
  const jwt = (claims: object) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${part({ alg: "none" })}.${part(claims)}.c2lnbmF0dXJl`;
  };

  it("is exp minus iat, both of the service's clock", () => {
    expect(tokenLifetimeMs(jwt({ iat: 1_000, exp: 1_090 }))).toBe(90_000);
  });

  it.each([
    ["an opaque token", "opaque"],
    ["something with dots", "a.b.c"],
    ["a payload that is no object", `x.${Buffer.from("12").toString("base64url")}.y`],
    ["no exp", jwt({ sub: "x" })],
    ["an exp that is text", jwt({ exp: "soon" })],
    ["no iat", jwt({ exp: 315_360_000 })],
    ["an exp long after iat", jwt({ iat: 1_000, exp: 315_360_000 })],
    ["an exp before iat", jwt({ iat: 1_000, exp: 999 })],
  ])("the lifetime of a token with %s is the documented one", (_, token) => {
    expect(tokenLifetimeMs(token)).toBe(180_000);
  });
});

// How often a key is exchanged is counted where the exchanges arrive.

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
  const engine = openEngine(service, { apiKey: "key_1234567890", random: () => 0.5, fetch });
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

const unauthenticated: Fault = {
  type: "rejection",
  body: { data: null, errors: [{ message: "Unauthorized", extensions: { code: "UNAUTHENTICATED" } }] },
};
const unauthorized: Fault = {
  type: "rejection",
  body: { data: null, errors: [{ message: "Unauthorized" }] },
};

/** Sends a query every 500 ms for a while. Returns the codes. */
async function poll({ clock }: FakeService, engine: TestEngine, seconds: number): Promise<readonly string[]> {
  const codes: Promise<string>[] = [];
  for (let tick = 0; tick < seconds * 2; tick += 1) {
    codes.push(codeOf(engine.execute(probe.query, {})));
    await clock.advance(500);
  }
  await clock.advance(1_000);
  return Promise.all(codes);
}

describe("a token that the service rejects", () => {
  it("is replaced five times at once and then once per 5 s, and calls succeed within 5 s after the service has recovered", async () => {
    let isBad = true;
    const { service, engine } = createEngineFixture({
      legs: constantLegs(20),
      fault: () => (isBad ? unauthenticated : undefined),
    });
    expect(new Set(await poll(service, engine, 30))).toEqual(new Set(["TOKEN_REJECTED"]));
    expect(service.log.exchanges).toBe(1 + 5 + 5);
    isBad = false;
    // What was issued while it was bad stays bad.
    service.revokeTokens();
    const codes = await poll(service, engine, 10);
    expect(codes.slice(10)).toEqual(Array(10).fill("no error"));
    expect(service.log.exchanges).toBeLessThanOrEqual(1 + 5 + 5 + 2);
  });

  it("is replaced at once, five times, when a mock or a service is started again and again", async () => {
    const { service, engine } = createEngineFixture({ legs: constantLegs(20) });
    const codes: string[] = [];
    const restart = async () => {
      service.revokeTokens();
      const call = codeOf(engine.execute(probe.query, {}));
      await service.clock.advance(100);
      codes.push(await call);
    };
    for (let start = 0; start < 7; start += 1) await restart();
    // The first exchanges the key, five replace its token, and the budget is empty.
    expect(codes).toEqual([...Array(6).fill("no error"), "TOKEN_REJECTED"]);
    await service.clock.advance(5_000);
    await restart();
    expect(codes.at(-1)).toBe("no error");
  });

  it("fails a call with TOKEN_REJECTED after one fresh token", async () => {
    const { service, engine } = createEngineFixture({ fault: () => unauthenticated });
    const failure = failureOf(engine.execute(probe.mutation, { ref: "m" }));
    await service.clock.advance(1_000);
    expect(await failure).toMatchObject({ code: "TOKEN_REJECTED", outcome: "rejected", attempts: 2 });
    expect(service.log.exchanges).toBe(2);
    expect(service.log.applied).toEqual([]);
  });
});

describe("Unauthorized without a code", () => {
  it("is a missing permission, and the token is replaced when it is 30 s old", async () => {
    const { service, engine } = createEngineFixture({
      legs: constantLegs(20),
      fault: (operation) => (operation === "ProbeMutation" ? unauthorized : undefined),
    });
    const codes: Promise<string>[] = [];
    for (let second = 0; second < 600; second += 1) {
      const operation = second % 2 === 0 ? probe.mutation : probe.query;
      codes.push(codeOf(engine.execute(operation, {})));
      await service.clock.advance(1_000);
    }
    expect(new Set(await Promise.all(codes))).toEqual(new Set(["PERMISSION_DENIED", "no error"]));
    expect(service.log.exchanges).toBeLessThanOrEqual(600 / 30);
  });

  it("is gone within 30 s after the service has recovered, because the token may have been bad", async () => {
    let isBad = true;
    const { service, engine } = createEngineFixture({
      legs: constantLegs(20),
      fault: () => (isBad ? unauthorized : undefined),
    });
    expect(new Set(await poll(service, engine, 20))).toEqual(new Set(["PERMISSION_DENIED"]));
    isBad = false;
    // What was issued while it was bad stays bad.
    service.revokeTokens();
    const codes = await poll(service, engine, 40);
    expect(codes.slice(-20)).toEqual(Array(20).fill("no error"));
    expect(service.log.exchanges).toBeLessThanOrEqual(1 + 2);
  });
});
