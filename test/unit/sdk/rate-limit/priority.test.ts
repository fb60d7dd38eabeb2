import { describe, expect, it } from "vitest";
import type { Priority } from "../../../../sdk/rate-limit/call-queue.ts";
import {
  constantLegs,
  createEngineFixture,
  openEngine,
  type TestEngine,
} from "../../../support/engine-fixture.ts";
import { createFakeService, type FakeService } from "../../../support/fake-service.ts";
import { withLatency } from "../../../support/latency.ts";
import { codeOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

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
  it("is sent at once although 600 background calls wait, because they leave a tenth of the slots", async () => {
    const { service, engine } = createEngineFixture();
    await warmUp(service, engine);
    const batch = start(engine, 600, "b", "background");
    await service.clock.advance(5_000);
    expect(service.log.applied).toHaveLength(108);
    const clicks = start(engine, 12, "i", "interactive");
    await service.clock.advance(200);
    expect(service.log.applied.slice(108)).toEqual(Array.from({ length: 12 }, (_, index) => `i${index}`));
    await Promise.all(clicks);
    await service.clock.advance(7 * minuteMs);
    await Promise.all(batch);
    expect(service.log).toMatchObject({ accepted: 612, rejected429: 0 });
  });

  it("gets the next free slot when no slot is free", async () => {
    const { service, engine } = createEngineFixture();
    await warmUp(service, engine);
    const batch = start(engine, 600, "b", "background");
    await service.clock.advance(5_000);
    batch.push(...start(engine, 12, "n", "normal"));
    await service.clock.advance(5_000);
    expect(service.log.applied).toHaveLength(120);
    batch.push(...start(engine, 1, "i", "interactive"));
    await service.clock.advance(minuteMs);
    expect(service.log.applied[120]).toBe("i0");
    await service.clock.advance(7 * minuteMs);
    await Promise.all(batch);
    expect(service.log.rejected429).toBe(0);
  });

  it("is not rejected because another client's batch has filled its own queue", async () => {
    const { service, engine: batch } = createEngineFixture({ client: { rateLimit: { maxQueued: 200 } } });
    const { clock } = service;
    const fetch = withLatency(service.fetch, clock, constantLegs(100));
    const person = openEngine(service, { fetch, rateLimit: { maxQueued: 1 } });
    await warmUp(service, batch);
    const first = start(batch, 108, "a", "background").map(codeOf);
    await clock.advance(5_000);
    const calls = start(batch, 201, "b", "background").map(codeOf);
    const clicks = start(person, 14, "i", "interactive").map(codeOf);
    await clock.advance(3 * minuteMs);
    expect(new Set(await Promise.all(first))).toEqual(new Set(["no error"]));
    expect((await Promise.all(calls)).filter((code) => code === "RATE_LIMIT_QUEUE_FULL")).toHaveLength(1);
    const codes = await Promise.all(clicks);
    expect(codes.filter((code) => code === "no error")).toHaveLength(13);
    expect(codes.filter((code) => code === "RATE_LIMIT_QUEUE_FULL")).toHaveLength(1);
  });
});

describe("a call of a lower priority", () => {
  it.each([
    ["background", "interactive"],
    ["background", "normal"],
    ["normal", "interactive"],
  ] as const)("that is %s gets every tenth slot although %s calls never stop", async (lower, higher) => {
    const { service, engine } = createEngineFixture();
    await warmUp(service, engine);
    const calls = [...start(engine, 400, "high", higher), ...start(engine, 20, "low", lower)];
    await service.clock.advance(2 * minuteMs);
    const sent = service.log.applied.slice(120, 220);
    expect(sent.filter((ref) => ref.startsWith("low")).length).toBeGreaterThanOrEqual(9);
    const places = sent.flatMap((ref, index) => (ref.startsWith("low") ? [index] : []));
    const gaps = places.map((place, index) => place - (places[index - 1] ?? -1));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(10);
    await service.clock.advance(4 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 420, rejected429: 0 });
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
      ...{ priority, deadlineMs: undefined, fetch: never, timeoutMs: 10_000_000 },
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
