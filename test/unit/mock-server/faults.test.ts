import { describe, expect, test } from "vitest";
import { createFaultStore } from "../../../mock-server/faults/fault-store.ts";
import { type PlainAnswer, serveWithFaults } from "../../../mock-server/faults/serve-with-faults.ts";
import { createRandomStreams } from "../../../mock-server/random.ts";

const call = { keyId: "key-1", router: "base", operations: ["me"] } as const;
const attempt = { endpointId: "endpoint-1", eventName: "task.running", deliveryId: "delivery-1" };
const never = { number: () => 1, nowMs: () => 0 };
const seeded = (seed: number) => {
  const random = createRandomStreams(seed);
  return { number: (stream: string) => random.number(stream), nowMs: () => 0 };
};
const kinds = (fired: readonly { fault: { kind: string } }[]) => fired.map(({ fault }) => fault.kind);

describe("instructions", () => {
  test("are used up in order, one per matching call, and then all is normal", () => {
    const store = createFaultStore({
      api: [{ instructions: [{ kind: "pass" }, { kind: "html" }, { kind: "stall" }] }],
    });
    const taken = [1, 2, 3, 4].map(() => kinds(store.takeApi(call, never)));
    expect(taken).toEqual([[], ["html"], ["stall"], []]);
  });

  test("are kept for the calls they are meant for", () => {
    const store = createFaultStore({
      api: [
        { keyId: "key-2", instructions: [{ kind: "html" }] },
        { operation: "createWebhookEndpoint", instructions: [{ kind: "stall" }] },
        { router: "gateway", instructions: [{ kind: "reset-before-effect" }] },
      ],
      deliveries: [{ event: "task.failed", instructions: [{ kind: "drop" }] }],
    });
    expect(store.takeApi(call, never)).toEqual([]);
    expect(kinds(store.takeApi({ ...call, keyId: "key-2" }, never))).toEqual(["html"]);
    expect(kinds(store.takeApi({ ...call, operations: ["me", "createWebhookEndpoint"] }, never))).toEqual([
      "stall",
    ]);
    expect(kinds(store.takeApi({ ...call, router: "gateway" }, never))).toEqual(["reset-before-effect"]);
    expect(store.takeDelivery(attempt, never)).toEqual([]);
    expect(kinds(store.takeDelivery({ ...attempt, eventName: "task.failed" }, never))).toEqual(["drop"]);
  });

  test("of two rules that match both befall the call, in the order of the plan", () => {
    const store = createFaultStore({
      api: [{ instructions: [{ kind: "delay", delayMs: 5 }] }, { instructions: [{ kind: "html" }] }],
    });
    expect(kinds(store.takeApi(call, never))).toEqual(["delay", "html"]);
  });

  test("start anew when the plan is replaced, and end when it is cleared", () => {
    const plan = { api: [{ instructions: [{ kind: "html" } as const] }] };
    const store = createFaultStore(plan);
    store.takeApi(call, never);
    store.replace(plan);
    expect(kinds(store.takeApi(call, never))).toEqual(["html"]);
    store.replace(plan);
    store.clear();
    expect(store.takeApi(call, never)).toEqual([]);
    expect(store.empty).toBe(true);
    expect(store.fired()).toEqual([]);
  });
});

describe("chances", () => {
  const half = { probability: 0.5, fault: { kind: "html" } } as const;
  const draw = (store: ReturnType<typeof createFaultStore>, seed: number) => {
    const chance = seeded(seed);
    return Array.from({ length: 200 }, () => store.takeApi(call, chance).length);
  };

  test("are drawn from the seed: equal seeds, equal faults; another seed, others", () => {
    const store = () => createFaultStore({ api: [{ chances: [half] }] });
    expect(draw(store(), 7)).toEqual(draw(store(), 7));
    expect(draw(store(), 7)).not.toEqual(draw(store(), 8));
    const fired = draw(store(), 7).reduce((sum, one) => sum + one, 0);
    expect(fired).toBeGreaterThan(70);
    expect(fired).toBeLessThan(130);
  });

  test("of one rule do not shift another's", () => {
    const alone = createFaultStore({ api: [{ chances: [half] }] });
    const beside = createFaultStore({ api: [{ chances: [half] }, { chances: [half, half] }] });
    const chance = seeded(7);
    const ofFirstRule = Array.from(
      { length: 200 },
      () => beside.takeApi(call, chance).filter(({ rule }) => rule === 0).length,
    );
    expect(ofFirstRule).toEqual(draw(alone, 7));
  });
});

test("the log tells which faults fired, at what, and survives a snapshot with the rest of the plan", () => {
  const store = createFaultStore({ api: [{ instructions: [{ kind: "html" }, { kind: "stall" }] }] });
  store.takeApi(call, { ...never, nowMs: () => 42 });
  const twin = createFaultStore();
  twin.restore(store.snapshot());
  expect(twin.fired()).toEqual([
    { sequence: 1, atMs: 42, side: "api", rule: 0, fault: { kind: "html" }, subject: "me" },
  ]);
  expect(kinds(twin.takeApi(call, never))).toEqual(["stall"]);
  expect(twin.fired().at(-1)?.sequence).toBe(2);
});

describe("a call under faults", () => {
  const serve = async (faults: Parameters<typeof serveWithFaults>[0]) => {
    const happened: string[] = [];
    const ports = {
      wait: async (delayMs: number) => {
        happened.push(`waited ${delayMs}`);
      },
      expireToken: () => happened.push("token expired"),
      burnQuota: (requests: number | null) => happened.push(`burned ${requests ?? "all"}`),
    };
    const run = async (): Promise<PlainAnswer> => {
      happened.push("ran");
      return { status: 200, headers: {}, body: "0123456789" };
    };
    return { answer: await serveWithFaults(faults, ports, run), happened };
  };

  test("whose token expires and whose quota burns still runs, after that", async () => {
    const { happened } = await serve([{ kind: "burn-quota", requests: 3 }, { kind: "expire-token" }]);
    expect(happened).toEqual(["burned 3", "token expired", "ran"]);
  });

  test.each([
    [{ kind: "status", status: 503, retryAfterSeconds: 9 } as const, 503, "9"],
    [{ kind: "html" } as const, 502, undefined],
    [{ kind: "graphql-error", message: "no", code: "TEAPOT" } as const, 200, undefined],
  ])("that is replaced by %o does not run", async (fault, status, retryAfter) => {
    const { answer, happened } = await serve([fault]);
    expect(happened).toEqual([]);
    expect(answer.status).toBe(status);
    expect(answer.headers["retry-after"]).toBe(retryAfter);
  });

  test("that is cut before its effect has none; cut after it, it has run", async () => {
    expect((await serve([{ kind: "reset-before-effect" }])).happened).toEqual([]);
    const after = await serve([{ kind: "reset-after-effect" }]);
    expect(after.happened).toEqual(["ran"]);
    expect(after.answer.ending).toEqual({ kind: "cut", afterBytes: null });
  });

  test("that is truncated always misses at least its last byte", async () => {
    const ending = async (bytes?: number) => (await serve([{ kind: "truncate", bytes }])).answer.ending;
    expect(await ending()).toEqual({ kind: "cut", afterBytes: 5 });
    expect(await ending(3)).toEqual({ kind: "cut", afterBytes: 3 });
    expect(await ending(99)).toEqual({ kind: "cut", afterBytes: 9 });
  });

  test("that is delayed runs first and answers later", async () => {
    const { happened } = await serve([{ kind: "delay", delayMs: 250 }, { kind: "stall" }]);
    expect(happened).toEqual(["ran", "waited 250"]);
  });
});
