import { describe, expect, it } from "vitest";
import type { Priority } from "../../../../sdk/rate-limit/rate-limiter.ts";
import {
  constantLegs,
  createEngineFixture,
  openEngine,
  probe,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService, type FakeService, withLatency } from "../../../support/fake-service.ts";
import { codeOf } from "../../../support/outcome-of.ts";

const minuteMs = 60_000;

/** Starts calls whose effects appear in the log as `name` and a number. */
function start(engine: TestEngine, count: number, name: string, priority: Priority) {
  return Array.from({ length: count }, (_, index) =>
    engine.execute(probe.mutation, { ref: `${name}${index}` }, { priority }),
  );
}

async function warmUp(service: FakeService, engine: TestEngine) {
  const token = engine.workspaceToken();
  await service.clock.advance(1_000);
  await token;
}

describe("an interactive call", () => {
  it("gets the next free slot, before normal calls and those of a batch that wait longer", async () => {
    const { service, engine } = createEngineFixture();
    await warmUp(service, engine);
    const calls = start(engine, 360, "b", "background");
    await service.clock.advance(5_000);
    expect(service.log.applied).toHaveLength(120);
    calls.push(...start(engine, 12, "n", "normal"));
    await service.clock.advance(5_000);
    calls.push(...start(engine, 2, "i", "interactive"));
    await service.clock.advance(minuteMs);
    const next = service.log.applied.slice(120, 136).map((ref) => ref.replace(/\d+$/, ""));
    expect(next).toEqual([...Array(2).fill("i"), ...Array(12).fill("n"), ...Array(2).fill("b")]);
    await service.clock.advance(7 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 374, rejected429: 0 });
  });

  it("is not rejected because another client's batch has filled its own queue", async () => {
    const { service, engine: batch } = createEngineFixture({ client: { rateLimit: { maxQueued: 200 } } });
    const { clock } = service;
    const fetch = withLatency(service.fetch, clock, constantLegs(100));
    const person = openEngine(service, { fetch, rateLimit: { maxQueued: 1 } });
    await warmUp(service, batch);
    const first = start(batch, 120, "a", "background").map(codeOf);
    await clock.advance(5_000);
    const calls = start(batch, 201, "b", "background").map(codeOf);
    const clicks = start(person, 2, "i", "interactive").map(codeOf);
    await clock.advance(3 * minuteMs);
    expect(new Set(await Promise.all(first))).toEqual(new Set(["no error"]));
    expect((await Promise.all(calls)).filter((code) => code === "RATE_LIMIT_QUEUE_FULL")).toHaveLength(1);
    const codes = await Promise.all(clicks);
    expect(codes).toEqual(["no error", "RATE_LIMIT_QUEUE_FULL"]);
  });
});

describe("the default deadline", () => {
  it.each([
    ["interactive", 120_000],
    ["normal", 120_000],
    ["background", 900_000],
  ] as const)("of a call that is %s is %i ms", async (priority, deadlineMs) => {
    const service = createFakeService();
    const { clock } = service;
    const never = () => new Promise<Response>(() => {});
    const engine = openEngine(service, {
      priority,
      deadlineMs: undefined,
      fetch: never,
      timeoutMs: 10_000_000,
    });
    const code = codeOf(engine.execute(probe.query, {}));
    let isSettled = false;
    void code.then(() => {
      isSettled = true;
    });
    await clock.advance(deadlineMs - 1);
    expect(isSettled).toBe(false);
    await clock.advance(1);
    expect(isSettled).toBe(true);
    expect(await code).toBe("DEADLINE_EXCEEDED");
    await clock.advance(10_000_000);
  });
});
