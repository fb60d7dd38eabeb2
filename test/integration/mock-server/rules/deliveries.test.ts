import { createMockServer, createVirtualClock, type VirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import type { DeliveryResponse } from "../../../../mock-server/outbound.ts";
import { emitCustomEvent } from "../../../../mock-server/rules/events.ts";
import { createTestWorld, responded, type TestWorld } from "../../../support/mock-world.ts";

const emit = ({ world, workspaceId }: TestWorld, index: number) =>
  emitCustomEvent(world, { workspaceId, name: "task.running", payload: { index } });

const deliveriesOf = ({ world }: TestWorld) => [...world.state.deliveries.values()];

/** Responses that the test sends, in any order. */
function createPendingResponses() {
  const waiting: ((response: DeliveryResponse) => void)[] = [];
  return {
    respond: () => new Promise<DeliveryResponse>((resolve) => waiting.push(resolve)),
    waiting,
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("delivery order", () => {
  const orderOfRetries = async (order: (count: number) => number[]) => {
    const pending = createPendingResponses();
    let failing = true;
    const fixture = createTestWorld({ respond: () => (failing ? pending.respond() : responded(204)) });
    fixture.addEndpoint();
    for (let index = 0; index < 20; index++) emit(fixture, index);
    for (const index of order(20)) {
      pending.waiting[index]?.(responded(500));
      await turn();
    }
    failing = false;
    await fixture.clock.advance(5_000);
    return fixture.sent.slice(20).map(({ event }) => event.index);
  };

  it("retries due at the same time run in the order of their deliveries, not of the previous responses", async () => {
    const forward = await orderOfRetries((count) => Array.from({ length: count }, (_, index) => index));
    const backward = await orderOfRetries((count) =>
      Array.from({ length: count }, (_, index) => count - 1 - index),
    );
    expect(forward).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(backward).toEqual(forward);
  });
});

describe("advancing the clock by seven days", () => {
  it("runs thousands of pending retries in order and resolves when all have settled", async () => {
    const count = 2_000;
    const fixture = createTestWorld({
      respond: async () => {
        await turn();
        return responded(503);
      },
    });
    fixture.addEndpoint();
    for (let index = 0; index < count; index++) emit(fixture, index);
    await fixture.clock.advance(7 * 86_400_000);
    expect(fixture.sent).toHaveLength(8 * count);
    expect(
      deliveriesOf(fixture).every(({ status, attempts }) => status === "failed" && attempts.length === 8),
    ).toBe(true);
    expect(fixture.sent.map(({ event }) => event.index)).toEqual(
      Array.from({ length: 8 * count }, (_, index) => index % count),
    );
    const times = fixture.sent.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(times).size).toBe(8);
    expect(fixture.clock.pending().timers).toBe(0);
  });
});

describe("deliveries of a world that has ended", () => {
  it("drop a response in flight and make no further attempts", async () => {
    const pending = createPendingResponses();
    const fixture = createTestWorld({ respond: pending.respond });
    fixture.addEndpoint();
    emit(fixture, 0);
    const activities: unknown[] = [];
    fixture.world.end();
    fixture.world.subscribe((activity) => activities.push(activity));
    pending.waiting[0]?.(responded(500));
    await turn();
    await fixture.clock.advance(7 * 86_400_000);
    expect(fixture.sent).toHaveLength(1);
    expect(deliveriesOf(fixture)[0]?.attempts).toEqual([]);
    expect(activities).toEqual([]);
  });
});

describe("delivery retention", () => {
  it.each([1, 3])(
    "discards the oldest finished deliveries first, and an event with its last one (%i endpoints)",
    async (endpoints) => {
      const fixture = createTestWorld({ settings: { bounds: { deliveriesMax: 100 } } });
      for (let added = 0; added < endpoints; added++) fixture.addEndpoint();
      for (let index = 0; index < 250; index++) {
        emit(fixture, index);
        await fixture.clock.settle();
      }
      const { deliveries, events } = fixture.world.state;
      expect(deliveries.size).toBeLessThanOrEqual(100);
      expect(deliveries.size).toBeGreaterThan(90);
      expect(new Set(events.keys())).toEqual(new Set([...deliveries.values()].map(({ eventId }) => eventId)));
      expect(JSON.parse([...events.values()].at(-1)?.body ?? "").index).toBe(249);
    },
  );

  it("discards a pending delivery only when none is finished, with an activity", async () => {
    const fixture = createTestWorld({
      respond: () => responded(500),
      settings: { bounds: { deliveriesMax: 3 } },
    });
    const discarded: unknown[] = [];
    fixture.world.subscribe(
      ({ type, deliveryId }) => type === "delivery.discarded" && discarded.push(deliveryId),
    );
    fixture.addEndpoint();
    for (let index = 0; index < 3; index++) emit(fixture, index);
    const [oldest] = deliveriesOf(fixture);
    emit(fixture, 3);
    expect(discarded).toEqual([oldest?.id]);
    await fixture.clock.advance(6_000);
    expect(fixture.sent.slice(4).map(({ event }) => event.index)).toEqual([1, 2, 3]);
  });
});

it("an endpoint that is down costs the others no history", async () => {
  const fixture = createTestWorld({
    respond: ({ url }) => responded(url.endsWith("down") ? 500 : 204),
    settings: { bounds: { deliveriesMax: 100 } },
  });
  const down = fixture.addEndpoint({ url: "http://127.0.0.1:9/down" });
  fixture.addEndpoint({ url: "http://127.0.0.1:9/up" });
  for (let index = 0; index < 200; index++) {
    emit(fixture, index);
    await fixture.clock.settle();
  }
  const isDown = deliveriesOf(fixture).map(({ endpointId }) => endpointId === down.id);
  expect([isDown.length, isDown.filter(Boolean).length]).toEqual([100, 50]);
});

describe("an attempt that a receiver rejects at a distant virtual time", () => {
  it("says that a receiver with its own clock does so, and only for statuses of a signature", async () => {
    const url = "http://127.0.0.1:1/hook";
    const errorsAt = async (clock: VirtualClock | "real") => {
      const statuses = [401, 500];
      const receivers = new Map([[url, () => new Response(null, { status: statuses.shift() ?? 204 })]]);
      await using mock = await createMockServer({ listen: false, clock, receivers });
      await mock.control.createEndpoint({ url });
      for (const taskType of ["BINDER", "TAX_PREP"]) {
        const { taskId } = await mock.control.startTask({ taskType, progression: "manual" });
        await mock.control.waitForDeliveries({ subject: taskId, attempted: true, count: 1 });
      }
      const { state } = await mock.control.getSnapshot();
      const { aheadOfRealMs } = await mock.control.getClock();
      return { errors: state.deliveries.map(({ attempts }) => attempts[0]?.error), aheadOfRealMs };
    };
    const distant = await errorsAt(createVirtualClock());
    expect(distant.errors).toEqual([
      "status 401; virtual time is far from real time: a receiver with its own clock rejects the timestamp",
      "status 500",
    ]);
    expect(Math.abs(distant.aheadOfRealMs)).toBeGreaterThan(300_000);
    const near = await errorsAt(createVirtualClock(Date.now()));
    expect(near.errors).toEqual(["status 401", "status 500"]);
    expect(Math.abs(near.aheadOfRealMs)).toBeLessThan(60_000);
    expect(await errorsAt("real")).toEqual({ errors: ["status 401", "status 500"], aheadOfRealMs: 0 });
  });
});

describe("bounds", () => {
  const url = "http://127.0.0.1:1/hook";
  const receivers = new Map([[url, () => new Response("x".repeat(500))]]);

  it("discard the oldest finished deliveries past an estimated number of bytes", async () => {
    await using mock = await createMockServer({ listen: false, clock: "virtual", receivers });
    await mock.control.createEndpoint({ url });
    await mock.control.addCatalogEvent({ name: "client.archived" });
    const sent: string[] = [];
    for (let index = 0; index < 10; index++) {
      const payload = { text: "x".repeat(8_000_000) };
      await mock.control.sendEvent({ name: "client.archived", payload });
      await mock.clock.settle();
      sent.push((await mock.control.listDeliveries({ order: "desc" })).data[0]?.id ?? "");
    }
    const kept = (await mock.control.listDeliveries()).data.map(({ id }) => id);
    // 64 MiB have room for eight of them; one percent more is discarded at a time.
    expect(kept).toEqual(sent.slice(-kept.length));
    expect([7, 8]).toContain(kept.length);
  });
});
