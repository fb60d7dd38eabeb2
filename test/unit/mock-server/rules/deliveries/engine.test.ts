import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, test, vi } from "vitest";
import type { DeliveryResponse } from "../../../../../mock-server/outbound/port.ts";
import {
  cancelDeliveries,
  pauseDeliveries,
  replayDelivery,
  rescheduleDeliveries,
  resumeDeliveries,
} from "../../../../../mock-server/rules/deliveries/engine.ts";
import { ServiceError } from "../../../../../mock-server/rules/service-error.ts";
import { emitCustomEvent } from "../../../../../mock-server/rules/webhooks/events.ts";
import { answered, createTestWorld, type TestWorld } from "../../../../support/mock-world.ts";

const emit = ({ world, workspaceId }: TestWorld, index: number) =>
  emitCustomEvent(world, { workspaceId, name: "task.running", payload: { index } });

const deliveriesOf = ({ world }: TestWorld) => [...world.state.deliveries.values()];

/** Answers only when told to, and in the order in which it is told to. */
function createPendingAnswers() {
  const waiting: ((answer: DeliveryResponse) => void)[] = [];
  return {
    answer: () => new Promise<DeliveryResponse>((resolve) => waiting.push(resolve)),
    waiting,
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("retries that come due together", () => {
  const orderOfRetries = async (order: (count: number) => number[]) => {
    const pending = createPendingAnswers();
    let failing = true;
    const bench = createTestWorld({ answer: () => (failing ? pending.answer() : answered(204)) });
    bench.addEndpoint();
    for (let index = 0; index < 20; index++) emit(bench, index);
    for (const index of order(20)) {
      pending.waiting[index]?.(answered(500));
      await turn();
    }
    failing = false;
    await bench.clock.advance(5_000);
    return bench.sent.slice(20).map(({ event }) => event.index);
  };

  test("go in the order of their deliveries, whoever's answer came first", async () => {
    const forward = await orderOfRetries((count) => Array.from({ length: count }, (_, index) => index));
    const backward = await orderOfRetries((count) =>
      Array.from({ length: count }, (_, index) => count - 1 - index),
    );
    expect(forward).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(backward).toEqual(forward);
  });
});

describe("advancing seven days with thousands of retries pending", () => {
  test("fires them in order and resolves when all have settled", async () => {
    const count = 2_000;
    const bench = createTestWorld({
      answer: async () => {
        await turn();
        return answered(503);
      },
    });
    bench.addEndpoint();
    for (let index = 0; index < count; index++) emit(bench, index);
    await bench.clock.advance(7 * 86_400_000);
    expect(bench.sent).toHaveLength(8 * count);
    expect(
      deliveriesOf(bench).every(({ status, attempts }) => status === "failed" && attempts.length === 8),
    ).toBe(true);
    expect(bench.sent.map(({ event }) => event.index)).toEqual(
      Array.from({ length: 8 * count }, (_, place) => place % count),
    );
    const times = bench.sent.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(times).size).toBe(8);
    expect(bench.clock.pending().timers).toBe(0);
  });
});

describe("a world that has ended", () => {
  test("drops what still comes back and attempts nothing more", async () => {
    const pending = createPendingAnswers();
    const bench = createTestWorld({ answer: pending.answer });
    bench.addEndpoint();
    emit(bench, 0);
    const happenings: unknown[] = [];
    bench.world.end();
    bench.world.subscribe((activity) => happenings.push(activity));
    pending.waiting[0]?.(answered(500));
    await turn();
    await bench.clock.advance(7 * 86_400_000);
    expect(bench.sent).toHaveLength(1);
    expect(deliveriesOf(bench)[0]?.attempts).toEqual([]);
    expect(happenings).toEqual([]);
  });

  test("the same answer in a world that goes on leads to a retry", async () => {
    const pending = createPendingAnswers();
    const bench = createTestWorld({ answer: pending.answer });
    bench.addEndpoint();
    emit(bench, 0);
    pending.waiting[0]?.(answered(500));
    await turn();
    expect(deliveriesOf(bench)[0]?.attempts).toHaveLength(1);
    expect(bench.clock.pending().timers).toBe(1);
  });
});

describe("pausing while an attempt is under way", () => {
  test("a failed attempt plans its retry, which waits for the endpoint", async () => {
    const pending = createPendingAnswers();
    const bench = createTestWorld({ answer: pending.answer });
    const endpoint = bench.addEndpoint();
    emit(bench, 0);
    endpoint.enabled = false;
    pauseDeliveries(bench.world, endpoint.id);
    pending.waiting[0]?.(answered(500));
    await turn();
    const [delivery] = deliveriesOf(bench);
    expect(delivery).toMatchObject({ status: "paused", nextAttemptAtMs: bench.clock.now() + 5_000 });
    await bench.clock.advance(60_000);
    expect(bench.sent).toHaveLength(1);

    endpoint.enabled = true;
    resumeDeliveries(bench.world, endpoint.id);
    expect(bench.sent).toHaveLength(2);
  });

  test("an acknowledged attempt is an acknowledgement all the same", async () => {
    const pending = createPendingAnswers();
    const bench = createTestWorld({ answer: pending.answer });
    const endpoint = bench.addEndpoint();
    emit(bench, 0);
    pauseDeliveries(bench.world, endpoint.id);
    pending.waiting[0]?.(answered(204));
    await turn();
    expect(deliveriesOf(bench)).toMatchObject([{ status: "succeeded", nextAttemptAtMs: null }]);
  });

  test("what waits in the lane does not start, and goes on afterwards", async () => {
    const pending = createPendingAnswers();
    const bench = createTestWorld({
      answer: pending.answer,
      settings: { delivery: { inFlightPerEndpointMax: 1 } },
    });
    const endpoint = bench.addEndpoint();
    emit(bench, 0);
    emit(bench, 1);
    emit(bench, 2);
    pauseDeliveries(bench.world, endpoint.id);
    pending.waiting[0]?.(answered(204));
    await turn();
    expect(bench.sent).toHaveLength(1);
    resumeDeliveries(bench.world, endpoint.id);
    pending.waiting[1]?.(answered(204));
    await turn();
    expect(bench.sent.map(({ event }) => event.index)).toEqual([0, 1, 2]);
  });
});

describe("cancelling while an attempt is under way", () => {
  test("no retry follows", async () => {
    const pending = createPendingAnswers();
    const bench = createTestWorld({ answer: pending.answer });
    const endpoint = bench.addEndpoint();
    emit(bench, 0);
    bench.world.state.endpoints.delete(endpoint.id);
    cancelDeliveries(bench.world, endpoint.id);
    pending.waiting[0]?.(answered(500));
    await bench.clock.advance(7 * 86_400_000);
    expect(bench.sent).toHaveLength(1);
    expect(deliveriesOf(bench)).toMatchObject([{ status: "cancelled", attempts: [{ status: 500 }] }]);
  });
});

describe("replaying", () => {
  test("sends again with the same id, outside the schedule", async () => {
    let status = 500;
    const bench = createTestWorld({ answer: () => answered(status) });
    bench.addEndpoint();
    emit(bench, 0);
    await bench.clock.settle();
    const [delivery] = deliveriesOf(bench);
    const id = delivery?.id ?? "";
    expect(await replayDelivery(bench.world, id)).toMatchObject({ kind: "replay", status: 500, number: 2 });
    expect(delivery).toMatchObject({ status: "pending" });
    status = 204;
    expect(await replayDelivery(bench.world, id)).toMatchObject({ kind: "replay", error: null });
    expect(delivery).toMatchObject({ status: "succeeded", nextAttemptAtMs: null });
    await bench.clock.advance(7 * 86_400_000);
    expect(bench.sent.map(({ deliveryId }) => deliveryId)).toEqual([id, id, id]);
  });

  test("a replay that fails does not take an acknowledgement back", async () => {
    let status = 204;
    const bench = createTestWorld({ answer: () => answered(status) });
    bench.addEndpoint();
    emit(bench, 0);
    await bench.clock.settle();
    status = 500;
    const [delivery] = deliveriesOf(bench);
    await replayDelivery(bench.world, delivery?.id ?? "");
    expect(delivery?.status).toBe("succeeded");
  });

  test("is refused for an unknown delivery, a disabled endpoint and a deleted one", async () => {
    const bench = createTestWorld();
    const endpoint = bench.addEndpoint();
    emit(bench, 0);
    await bench.clock.settle();
    const id = deliveriesOf(bench)[0]?.id ?? "";
    const codeOf = (deliveryId: string) => {
      try {
        void replayDelivery(bench.world, deliveryId);
      } catch (error) {
        return error instanceof ServiceError ? error.code : error;
      }
      return "nothing was refused";
    };
    expect(codeOf("anonymous")).toBe("NOT_FOUND");
    endpoint.enabled = false;
    expect(codeOf(id)).toBe("CONFLICT");
    bench.world.state.endpoints.delete(endpoint.id);
    expect(codeOf(id)).toBe("CONFLICT");
  });
});

describe("a restored state", () => {
  test("goes on with what was pending, at its time and in its order, and with what was under way", async () => {
    const pending = createPendingAnswers();
    const old = createTestWorld({ answer: pending.answer });
    const endpoint = old.addEndpoint();
    for (let index = 0; index < 4; index++) emit(old, index);
    for (const index of [2, 0, 1]) pending.waiting[index]?.(answered(500));
    await turn();

    const next = createTestWorld();
    next.world.state.endpoints.set(endpoint.id, endpoint);
    const { events, deliveries } = structuredClone(old.world.state);
    for (const [id, event] of events)
      next.world.state.events.set(id, { ...event, workspaceId: next.workspaceId });
    for (const [id, delivery] of deliveries) next.world.state.deliveries.set(id, delivery);
    rescheduleDeliveries(next.world);
    expect(next.sent.map(({ event }) => event.index)).toEqual([3]);
    await next.clock.advance(4_999);
    expect(next.sent).toHaveLength(1);
    await next.clock.advance(1);
    expect(next.sent.map(({ event }) => event.index)).toEqual([3, 0, 1, 2]);
  });
});

describe("how many deliveries are kept", () => {
  test("the oldest that are done go first, with their events", async () => {
    const bench = createTestWorld({ settings: { bounds: { deliveriesMax: 100 } } });
    bench.addEndpoint();
    for (let index = 0; index < 250; index++) {
      emit(bench, index);
      await bench.clock.settle();
    }
    const { deliveries, events } = bench.world.state;
    expect(deliveries.size).toBeLessThanOrEqual(100);
    expect(deliveries.size).toBeGreaterThan(90);
    expect(new Set(events.keys())).toEqual(new Set([...deliveries.values()].map(({ eventId }) => eventId)));
    expect(JSON.parse([...events.values()].at(-1)?.body ?? "").index).toBe(249);
  });

  test("a pending one goes only when none is done, and this is announced", async () => {
    const bench = createTestWorld({
      answer: () => answered(500),
      settings: { bounds: { deliveriesMax: 3 } },
    });
    const givenUp: unknown[] = [];
    bench.world.subscribe(
      ({ type, deliveryId }) => type === "delivery.discarded" && givenUp.push(deliveryId),
    );
    bench.addEndpoint();
    for (let index = 0; index < 3; index++) emit(bench, index);
    const [oldest] = deliveriesOf(bench);
    emit(bench, 3);
    expect(givenUp).toEqual([oldest?.id]);
    await bench.clock.advance(6_000);
    expect(bench.sent.slice(4).map(({ event }) => event.index)).toEqual([1, 2, 3]);
  });
});

describe("a signature", () => {
  test("of any text is accepted by the standard library", async () => {
    const bench = createTestWorld();
    const endpoint = bench.addEndpoint();
    const texts = fc.sample(fc.string({ unit: "binary" }), 200);
    for (const [index, text] of texts.entries()) {
      emitCustomEvent(bench.world, {
        workspaceId: bench.workspaceId,
        name: "task.running",
        payload: { index, text },
      });
    }
    await bench.clock.settle();
    const webhook = new Webhook(endpoint.secrets[0]?.secret ?? "");
    vi.useFakeTimers({ toFake: ["Date"], now: bench.clock.now() });
    try {
      for (const { attempts } of deliveriesOf(bench)) {
        const [attempt] = attempts;
        const payload = Buffer.from(attempt?.requestBody ?? "");
        const verified = webhook.verify(payload, { ...attempt?.requestHeaders }) as { index: number };
        expect(verified).toMatchObject({ text: texts[verified.index] });
      }
    } finally {
      vi.useRealTimers();
    }
    expect(deliveriesOf(bench)).toHaveLength(200);
  });
});
