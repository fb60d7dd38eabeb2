import { ReceiverError, type VerifiedWebhook } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { encodeDelivery } from "../../../../receiver-kit/rabbitmq/delivery-message.ts";
import { createConsumer } from "../../../../receiver-kit/rabbitmq/rabbitmq-consumer.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";
import { FakeAmqp } from "./fake-amqp.ts";

type Accept = (webhook: VerifiedWebhook) => Promise<void>;

async function createFixture(accept: Accept, { amqp = new FakeAmqp(), shards = 1, partitions = 1 } = {}) {
  const clock = createFixtureClock();
  const lines: string[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const receiver = {
    source: "default",
    async accept(webhook: VerifiedWebhook) {
      await accept(webhook);
      return { outcome: "accepted" } as const;
    },
  };
  const consumer = createConsumer(
    {
      urls: ["amqp://one"],
      shards,
      partitions,
      replicas: 1,
      receivers: Array.from({ length: shards }, () => receiver),
      logger: { info() {}, warn: note, error: note },
      clock,
      random: () => 0,
      operationTimeoutMs: 2_000,
    },
    amqp.connect,
  );
  const started = consumer.start();
  const rejected = started.then(
    () => undefined,
    (error: unknown) => error,
  );
  await clock.advance(1_000);
  const startError = await rejected;
  const deliver = (deliveryTag: number, id = `m${deliveryTag}`, fields = {}, body = "{}") => {
    const webhook = { id, timestamp: 1, secretIndex: 0, body: Buffer.from(body) };
    const delivery = { webhook, source: "default", traceparent: undefined, receivedAtMs: 1 };
    amqp.consuming.consumers.at(-1)?.deliver({
      content: webhook.body,
      fields: { deliveryTag, redelivered: false, exchange: "" },
      properties: { ...encodeDelivery(delivery), ...fields },
    } as never);
  };
  return { amqp, clock, consumer, deliver, lines, startError };
}

/** Lets what is due now happen. */
const turn = async () => {
  for (let n = 0; n < 8; n++) await new Promise<void>((resolve) => setImmediate(resolve));
};

describe("rabbitmqConsumer", () => {
  it("cannot be started again once it was closed", async () => {
    const { clock, consumer } = await createFixture(async () => {});
    const closed = consumer.close();
    await clock.advance(5_000);
    await closed;
    await expect(consumer.start()).rejects.toMatchObject({ code: "RECEIVER_CLOSING" });
  });

  it("acknowledges a batch with one message, and one by one around a message that is not stored", async () => {
    let isFailing = false;
    const { amqp, clock, deliver } = await createFixture(async ({ id }) => {
      if (id === "m5" && isFailing) throw new Error("not now");
    });
    for (const tag of [1, 2, 3]) deliver(tag);
    await turn();
    expect(amqp.consuming.acknowledged).toEqual([{ tag: 3, allUpTo: true }]);
    isFailing = true;
    for (const tag of [4, 5, 6]) deliver(tag);
    await turn();
    expect(amqp.consuming.acknowledged.slice(1)).toEqual([
      { tag: 4, allUpTo: false },
      { tag: 6, allUpTo: false },
    ]);
    isFailing = false;
    await clock.advance(1_000);
    await turn();
    expect(amqp.consuming.acknowledged.at(-1)).toEqual({ tag: 5, allUpTo: false });
    deliver(7);
    await turn();
    expect(amqp.consuming.acknowledged.at(-1)).toEqual({ tag: 7, allUpTo: true });
  });

  it("tries again ever more rarely, leaves the queue to others, and its number counts until something is stored", async () => {
    let attempts = 0;
    let isDown = true;
    const { amqp, clock, consumer, deliver, lines } = await createFixture(async () => {
      attempts += 1;
      if (isDown) throw new Error("the inbox is unavailable");
    });
    for (let tag = 1; tag <= 15; tag++) {
      deliver(tag, "m1");
      await turn();
      clock.setNow(clock.now() + (tag % 2 === 0 ? 2 : -1) * 86_400_000);
      await clock.advance(10_000);
      await turn();
    }
    expect(attempts).toBeLessThan(150);
    expect(consumer.stats().messages.released).toBeGreaterThan(5);
    expect(amqp.consuming.acknowledged).toEqual([]);
    deliver(16);
    await turn();
    // The documented alert is at 60,000.
    expect(consumer.stats().queues[0]?.failingForMs).toBeGreaterThan(100_000);
    expect(consumer.stats().queues[0]?.failingForMs).toBeLessThan(200_000);
    expect(lines.length).toBeLessThan(5);
    isDown = false;
    await clock.advance(20_000);
    deliver(17);
    await turn();
    expect(consumer.stats().queues[0]?.failingForMs).toBeNull();
    expect(lines.at(-1)).toMatch(/^no longer: queued deliveries cannot be stored/);
  });

  it("stores what is behind large messages that fill a batch and cannot be stored", async () => {
    const stored: string[] = [];
    const { clock, deliver } = await createFixture(async ({ id }) => {
      if (id.startsWith("bad")) throw new Error("unknown");
      stored.push(id);
    });
    const body = "x".repeat(1_000_000);
    for (let tag = 1; tag <= 10; tag++) deliver(tag, `bad${tag}`, {}, body);
    for (let tag = 11; tag <= 30; tag++) deliver(tag);
    await clock.advance(2_000);
    await turn();
    expect(stored).toHaveLength(20);
  });

  it.each([
    ["of another workspace", new ReceiverError("WORKSPACE_MISMATCH", "of another workspace"), {}],
    ["value of text", dataError(), {}],
    ["it is not a delivery", undefined, { type: "text" }],
    ["it has the source other", undefined, { appId: "other" }],
    ["it belongs to shard 0 of 2", undefined, { messageId: "of-shard-0" }],
  ])("parks at once what fails because of itself: %s", async (because, error, fields) => {
    const accept = async ({ id }: VerifiedWebhook) => {
      if (error && id === "m1") throw error;
    };
    // To the queue of shard 1.
    const { amqp, clock, consumer, deliver, lines } = await createFixture(accept, { shards: 2 });
    deliver(1, "m1", fields);
    deliver(2);
    await turn();
    await clock.advance(100);
    await turn();
    const [first] = amqp.latest.publishes;
    expect(first).toMatchObject({
      exchange: "",
      key: "workspace-tasks.parked",
      options: { mandatory: true, headers: { "parked-because": expect.stringContaining(because) } },
    });
    // There is no such queue: it is declared again, and the message stays until then.
    first?.giveBack();
    first?.confirm();
    await turn();
    expect(amqp.consuming.acknowledged).toEqual([{ tag: 2, allUpTo: false }]);
    await clock.advance(2_000);
    await turn();
    amqp.latest.publishes.at(-1)?.confirm();
    await turn();
    expect(amqp.consuming.acknowledged.at(-1)).toEqual({ tag: 1, allUpTo: false });
    expect(consumer.stats().messages).toMatchObject({ parked: 1 });
    expect(lines.join("\n")).toMatch(/deliveries were parked/);
    expect(lines.join("\n")).not.toMatch(/secret/);
  });

  it("parks what the broker has delivered often, once others are stored beside it", async () => {
    const { amqp, clock, deliver } = await createFixture(async ({ id }) => {
      if (id === "bad") throw new Error("unknown");
    });
    deliver(1, "bad", { headers: { "secret-index": 0, "received-at-ms": 1, "x-delivery-count": 9 } });
    await clock.advance(3_000);
    expect(amqp.connections).toHaveLength(1);
    for (let tag = 2; tag < 6; tag++) {
      deliver(tag);
      await clock.advance(3_000);
      await turn();
    }
    expect(amqp.latest.publishes[0]).toMatchObject({ key: "workspace-tasks.parked" });
  });

  it("leaves a delivery in the format of a newer release in the queue, and stores the others", async () => {
    const stored: string[] = [];
    const { amqp, clock, deliver } = await createFixture(async ({ id }) => void stored.push(id));
    deliver(1, "newer", { type: "workspace-tasks.delivery.2" });
    for (let tag = 2; tag < 20; tag++) {
      deliver(tag);
      await clock.advance(100);
      await turn();
    }
    expect(stored).toHaveLength(18);
    expect(amqp.consuming.acknowledged.map(({ tag }) => tag)).not.toContain(1);
    expect(amqp.connections).toHaveLength(1);
  });

  it("consumes the other queues while one does not respond, and that one later", async () => {
    let isSilent = true;
    const amqp = new FakeAmqp();
    amqp.onRequest = async (name) => {
      if (name.endsWith("consume workspace-tasks.v1.s0of1.p0") && isSilent) await new Promise<void>(() => {});
    };
    const { clock } = await createFixture(async () => {}, { amqp, partitions: 3 });
    const queues = () => amqp.consuming.consumers.map(({ queue }) => queue.slice(-2)).toSorted();
    expect(queues()).toEqual(["p1", "p2"]);
    isSilent = false;
    await clock.advance(5_000);
    expect(queues()).toEqual(["p0", "p1", "p2"]);
  });

  it("declares a queue that is missing again and again, has one consumer once it is there, and logs few lines", async () => {
    const amqp = new FakeAmqp();
    let isMissing = true;
    amqp.onRequest = async (name) => {
      if (!isMissing || !name.startsWith("consume")) return;
      const error = Object.assign(new Error("NOT_FOUND"), { code: 404 });
      amqp.latest.failChannels(error);
      throw error;
    };
    const { clock, lines, startError } = await createFixture(async () => {}, { amqp });
    expect(startError).toMatchObject({ code: "BROKER_SETUP_INVALID" });
    await clock.advance(60_000);
    expect(amqp.requests.filter((name) => name.startsWith("queue")).length).toBeGreaterThan(5);
    expect(amqp.requests.filter((name) => name.startsWith("consume")).length).toBeLessThan(30);
    isMissing = false;
    await clock.advance(20_000);
    expect(amqp.latest.consumers).toHaveLength(1);
    expect(lines.length).toBeLessThan(5);
    // The broker ends it, because the queue is deleted: again there is one.
    amqp.latest.consumers[0]?.deliver(null);
    await clock.advance(20_000);
    expect(amqp.latest.consumers).toHaveLength(2);
    expect(amqp.latest.closedChannels).toBeGreaterThanOrEqual(1);
  });
});

/** Of PostgreSQL, as the cause of what the receiver throws. */
function dataError(): Error {
  const cause = Object.assign(new Error('value of text "secret"'), { code: "22021" });
  return new ReceiverError("INBOX_UNAVAILABLE", "the inbox cannot store deliveries right now", { cause });
}
