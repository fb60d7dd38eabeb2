import { describe, expect, it } from "vitest";
import { nodeHashing } from "../../../../mock-server/node/platform.ts";
import type { FaultPlan } from "../../../../mock-server/state/fault.ts";
import { createFaultStore, type FaultStore } from "../../../../mock-server/world/fault-store.ts";
import { createRandomStreams, type RandomStreams } from "../../../../mock-server/world/random.ts";

const call = { keyId: "key-1", router: "base", operations: ["me"], content: "{}" } as const;
const attempt = { endpointId: "endpoint-1", eventName: "task.running", id: "delivery-1", attempt: 1 };
const clock = { now: () => 42 };
const kinds = (faults: readonly { kind: string }[]) => faults.map(({ kind }) => kind);

function storeOf(
  plan: FaultPlan = {},
  random: Pick<RandomStreams, "numberOf"> = { numberOf: () => 1 },
): FaultStore {
  const store = createFaultStore({ random, clock, hashing: nodeHashing, emit: () => undefined });
  store.replace(plan);
  return store;
}

describe("fault store", () => {
  it("uses up a rule's instructions in order, one per matching call", () => {
    const store = storeOf({
      api: [{ instructions: [{ kind: "pass" }, { kind: "html" }, { kind: "stall" }] }],
    });
    const drawn = [1, 2, 3, 4].map(() => kinds(store.drawApi(call)));
    expect(drawn).toEqual([[], ["html"], ["stall"], []]);
  });

  it("keeps a rule's instructions for the calls that match it", () => {
    const store = storeOf({
      api: [
        { keyId: "key-2", instructions: [{ kind: "html" }] },
        { operation: "createWebhookEndpoint", instructions: [{ kind: "stall" }] },
        { router: "gateway", instructions: [{ kind: "reset-before-effect" }] },
      ],
      deliveries: [{ event: "task.failed", instructions: [{ kind: "drop" }] }],
    });
    expect(store.drawApi(call)).toEqual([]);
    expect(kinds(store.drawApi({ ...call, keyId: "key-2" }))).toEqual(["html"]);
    expect(kinds(store.drawApi({ ...call, operations: ["me", "createWebhookEndpoint"] }))).toEqual(["stall"]);
    expect(kinds(store.drawApi({ ...call, router: "gateway" }))).toEqual(["reset-before-effect"]);
    expect(store.drawDelivery(attempt)).toEqual([]);
    expect(kinds(store.drawDelivery({ ...attempt, eventName: "task.failed" }))).toEqual(["drop"]);
  });

  it("restarts the instructions when the plan is replaced and injects nothing after clear", () => {
    const plan = { api: [{ instructions: [{ kind: "html" } as const] }] };
    const store = storeOf(plan);
    store.drawApi(call);
    store.replace(plan);
    expect(kinds(store.drawApi(call))).toEqual(["html"]);
    store.replace(plan);
    store.clear();
    expect(store.drawApi(call)).toEqual([]);
    expect(store.fired()).toEqual([]);
  });

  it("keeps the log and the rest of the plan in a snapshot", () => {
    const store = storeOf({ api: [{ instructions: [{ kind: "html" }, { kind: "stall" }] }] });
    store.drawApi(call);
    const restored = storeOf();
    restored.restore(store.snapshot());
    expect(restored.fired()).toEqual([
      { sequence: 1, atMs: 42, side: "api", rule: 0, fault: { kind: "html" }, subject: "me" },
    ]);
    expect(kinds(restored.drawApi(call))).toEqual(["stall"]);
    // Only requests that a chance was drawn for are counted.
    expect(restored.snapshot().requests).toEqual({});
    expect(restored.fired().at(-1)?.sequence).toBe(2);
  });
});

describe("the rules of a fault store", () => {
  const html = { instructions: [{ kind: "html" }, { kind: "html" }] } as const;
  const drop = { endpointId: "endpoint-1", instructions: [{ kind: "drop" }] } as const;

  it("are added after those of the plan, have ids of their own, and end one by one", () => {
    const store = storeOf({ api: [html], deliveries: [drop] });
    store.drawApi(call);
    store.add({ api: [{ instructions: [{ kind: "stall" }] }], deliveries: [drop] });
    expect(store.rules()).toEqual([
      { id: 1, side: "api", index: 0 },
      { id: 3, side: "api", index: 1 },
      { id: 2, side: "deliveries", index: 0 },
      { id: 4, side: "deliveries", index: 1 },
    ]);
    expect(store.plan()).toEqual({
      api: [{ instructions: [{ kind: "html" }] }, { instructions: [{ kind: "stall" }] }],
      deliveries: [drop, drop],
    });
    expect([store.remove(3), store.remove(3), store.remove(2), store.remove(9)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(store.rules().map(({ id }) => id)).toEqual([1, 4]);
    expect(kinds(store.drawApi(call))).toEqual(["html"]);
    store.add({});
    expect(store.rules()).toHaveLength(2);
    store.replace({});
    expect(store.plan()).toEqual({ api: [], deliveries: [] });
  });

  it("match deliveries by their endpoint", () => {
    const store = storeOf({ deliveries: [drop] });
    expect(store.drawDelivery({ ...attempt, endpointId: "endpoint-2" })).toEqual([]);
    expect(kinds(store.drawDelivery(attempt))).toEqual(["drop"]);
    expect(store.fired()).toMatchObject([{ sequence: 1, side: "delivery", rule: 0, subject: "delivery-1" }]);
  });

  it("inject rate-limited only into calls that the rate limit counts, and keep it for the next one", () => {
    const limited = { kind: "rate-limited" } as const;
    const chances = [
      { probability: 0.5, fault: limited },
      { probability: 0.5, fault: { kind: "html" } as const },
      { probability: 0, fault: { kind: "stall" } as const },
    ];
    const store = storeOf({ api: [{ instructions: [limited], chances }] }, { numberOf: () => 0 });
    const drawn = [false, undefined, true].map((isCounted) => kinds(store.drawApi({ ...call, isCounted })));
    expect(drawn).toEqual([["html"], ["rate-limited", "rate-limited", "html"], ["rate-limited", "html"]]);
  });

  it("keep a log of at most 10,000 faults, and emit each", () => {
    const emitted: unknown[] = [];
    const emit = (activity: unknown) => void emitted.push(activity);
    const store = createFaultStore({ random: { numberOf: () => 0 }, clock, hashing: nodeHashing, emit });
    store.replace({ deliveries: [{ chances: [{ probability: 1, fault: { kind: "drop" } }] }] });
    for (let count = 0; count < 10_001; count++) store.drawDelivery(attempt);
    expect(store.fired()).toHaveLength(10_000);
    expect(store.fired()[0]?.sequence).toBe(2);
    expect(emitted[0]).toEqual({
      type: "fault.fired",
      entry: {
        sequence: 1,
        atMs: 42,
        side: "delivery",
        rule: 0,
        fault: { kind: "drop" },
        subject: "delivery-1",
      },
    });
    const restored = storeOf();
    restored.restore({ ...store.snapshot(), fired: [] });
    expect(restored.fired()).toEqual([]);
    store.restore({ plan: { api: [html] }, fired: [], requests: {} });
    store.drawApi(call);
    expect(store.fired().map(({ sequence }) => sequence)).toEqual([1]);
  });
});

describe("probabilistic faults", () => {
  const half = { probability: 0.5, fault: { kind: "html" } } as const;
  const seeded = (seed: number, ...rules: NonNullable<FaultPlan["api"]>) =>
    storeOf({ api: rules }, createRandomStreams(seed, nodeHashing));
  const draw = (store: FaultStore) => Array.from({ length: 200 }, () => store.drawApi(call).length);

  it("repeat with the same seed and differ with another", () => {
    const rule = { chances: [half] };
    expect(draw(seeded(7, rule))).toEqual(draw(seeded(7, rule)));
    expect(draw(seeded(7, rule))).not.toEqual(draw(seeded(8, rule)));
    // In every release, so that a run can be repeated with a later one.
    expect(draw(seeded(7, rule)).slice(0, 20).join("")).toBe("01111111101011000111");
    const fired = draw(seeded(7, rule)).reduce((sum, one) => sum + one, 0);
    expect(fired).toBeGreaterThan(70);
    expect(fired).toBeLessThan(130);
  });

  it("of one rule do not shift the draws of another", () => {
    const first = { chances: [half] };
    const both = seeded(7, first, { chances: [half, half] });
    const ofFirstRule = Array.from({ length: 200 }, () => {
      const before = both.fired().length;
      both.drawApi(call);
      return both
        .fired()
        .slice(before)
        .filter(({ rule }) => rule === 0).length;
    });
    expect(ofFirstRule).toEqual(draw(seeded(7, first)));
  });

  it("of a request do not depend on the requests between", () => {
    const drawFor = (store: FaultStore, content: string) => store.drawApi({ ...call, content }).length;
    const one = seeded(7, { chances: [half] });
    const alone = Array.from({ length: 50 }, () => drawFor(one, "a"));
    const two = seeded(7, { chances: [half] });
    const mixed = Array.from({ length: 50 }, (_, index) => {
      if (index % 3 === 0) drawFor(two, "b");
      return drawFor(two, "a");
    });
    expect(mixed).toEqual(alone);
    expect(new Set(alone).size).toBe(2);
  });

  it("of a delivery depend on its id and attempt, in any order", () => {
    const deliveries = [{ chances: [{ probability: 0.5, fault: { kind: "drop" } as const }] }];
    const targets = Array.from({ length: 60 }, (_, index) => ({
      ...attempt,
      id: `delivery-${index % 20}`,
      attempt: Math.floor(index / 20),
    }));
    const drawAll = (order: typeof targets) => {
      const store = storeOf({ deliveries }, createRandomStreams(7, nodeHashing));
      return Object.fromEntries(
        order.map((target) => [`${target.id}/${target.attempt}`, store.drawDelivery(target).length]),
      );
    };
    expect(drawAll(targets.toReversed())).toEqual(drawAll(targets));
    expect(new Set(Object.values(drawAll(targets))).size).toBe(2);
  });

  it("continue after a snapshot as without it, and at most 10,000 requests are counted", () => {
    const store = seeded(7, { chances: [half] });
    for (let index = 0; index < 10_050; index++) store.drawApi({ ...call, content: String(index % 10_040) });
    const snapshot = store.snapshot();
    expect(Object.keys(snapshot.requests)).toHaveLength(10_000);
    const restored = seeded(7);
    restored.restore(snapshot);
    const drawLast = (one: FaultStore) =>
      Array.from({ length: 30 }, () => one.drawApi({ ...call, content: "9" }).length);
    expect(drawLast(restored)).toEqual(drawLast(store));
  });
});
