import { describe, expect, it } from "vitest";
import {
  constantLegs,
  createEngineFixture,
  openEngine,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService, type FakeService, type Fault } from "../../../support/fake-service.ts";
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

it("a rotated key is used from the next token on", async () => {
  const service = createFakeService();
  const { clock } = service;
  let reads = 0;
  let key = service.apiKey;
  const apiKey = () => {
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
});
