import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { ApiKeySource } from "../../../../sdk/credentials/key-exchange.ts";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import {
  constantLegs,
  createEngineFixture,
  createTestEngine,
  openEngine,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService, type FakeService, type Fault } from "../../../support/fake-service.ts";
import { withLatency } from "../../../support/latency.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

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

describe("a token that the service accepts for some operations only", () => {
  it("is replaced at once when it is rejected later than 5 s after the last replacement", async () => {
    const { service, engine } = createEngineFixture({ legs: constantLegs(20) });
    for (let round = 1; round <= 5; round += 1) {
      const call = codeOf(engine.execute(probe.query, {}));
      await service.clock.advance(5_000);
      expect(await call).toBe("no error");
      expect(service.log.exchanges).toBe(round);
      service.revokeTokens();
    }
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

/** Clients of one key in one process. */
function clientsOf(service: FakeService, count: number, fetch: Fetch = service.fetch) {
  return Array.from({ length: count }, () => openEngine(service, { fetch }));
}

describe("clients of one key in one process", () => {
  it("share the token, also when their first calls are concurrent", async () => {
    const service = createFakeService();
    const { clock } = service;
    const engines = clientsOf(service, 5, withLatency(service.fetch, clock, constantLegs(100)));
    const calls = engines.map((engine) => engine.execute(probe.query, {}));
    await clock.advance(1_000);
    await Promise.all(calls);
    expect(service.log.exchanges).toBe(1);
    await Promise.all(engines.map((engine) => engine.close()));
  });

  it("continue with an exchange of their own when the client that started it is closed", async () => {
    const service = createFakeService();
    const { clock } = service;
    const [first, second] = clientsOf(service, 2, withLatency(service.fetch, clock, constantLegs(1_000)));
    const codes = [first, second].map((engine) => engine && codeOf(engine.execute(probe.query, {})));
    await clock.advance(200);
    await first?.close();
    await clock.advance(5_000);
    expect(await Promise.all(codes)).toEqual(["CLIENT_CLOSED", "no error"]);
  });

  it("use a rotated key from the next token on that they exchange themselves", async () => {
    const service = createFakeService();
    const { clock } = service;
    let reads = 0;
    let key = service.apiKey;
    const apiKey = () => {
      reads += 1;
      return key;
    };
    const engine = openEngine(service, { apiKey });
    const poll = async (ticks: number) => {
      const codes: string[] = [];
      for (let tick = 0; tick < ticks; tick += 1) {
        codes.push(await codeOf(engine.execute(probe.query, {})));
        await clock.advance(10_000);
      }
      return codes;
    };
    expect(new Set(await poll(60))).toEqual(new Set(["no error"]));
    expect(reads).toBe(service.log.exchanges);
    key = "rotated_key_123456";
    expect((await poll(30)).at(-1)).toBe("API_KEY_REJECTED");
  });

  describe("redact the token that another client exchanged", () => {
    /** Issues tokens that only the redactor's memory can recognise, and echoes them in errors. */
    function setUp() {
      const { clock } = createFakeService();
      const baseUrl = `http://echo-${echoes++}.localhost`;
      const tokens: string[] = [];
      const fetch: Fetch = async (_, init) => {
        const authorization = new Headers(init?.headers).get("authorization");
        if (authorization !== null)
          return Response.json({ errors: [{ message: `bad ${authorization.slice(7)}` }] });
        const workspaceToken = `opaque value ${tokens.length}`.replaceAll(" ", "-");
        tokens.push(workspaceToken);
        return Response.json({ data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken } } });
      };
      const open = (apiKey: ApiKeySource = "key_1234567890") =>
        createTestEngine({ apiKey, baseUrl, clock, fetch });
      return { clock, open, tokens };
    }

    it("when they adopt it", async () => {
      const { open, tokens } = setUp();
      await failureOf(open().execute(probe.query, {}));
      const failure = await failureOf(open().execute(probe.query, {}));
      expect(tokens).toEqual(["opaque-value-0"]);
      expect(inspect(failure)).toContain("bad [redacted]");
    });

    it("before they have read their key again", async () => {
      const { clock, open, tokens } = setUp();
      let isSlow = false;
      const first = open();
      const second = open(() => (isSlow ? new Promise<string>(() => {}) : "key_1234567890"));
      await failureOf(second.execute(probe.query, {}));
      isSlow = true;
      await failureOf(first.execute(probe.query, {}));
      await clock.advance(175_000);
      await failureOf(first.execute(probe.query, {}));
      const failure = await failureOf(second.execute(probe.query, {}));
      expect(tokens).toEqual(["opaque-value-0", "opaque-value-1"]);
      expect(inspect(failure)).toContain("bad [redacted]");
    });

    it("and the registry prints none", async () => {
      const { open, tokens } = setUp();
      await failureOf(open().execute(probe.query, {}));
      const registry: unknown = Reflect.get(globalThis, Symbol.for("workspace-tasks/tokens/v1"));
      expect(inspect(registry, { depth: 9, showHidden: true })).not.toContain(tokens[0]);
    });
  });
});

let echoes = 0;
