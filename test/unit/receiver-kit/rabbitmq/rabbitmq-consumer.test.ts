import { ReceiverError, type VerifiedWebhook } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { encodeDelivery } from "../../../../receiver-kit/rabbitmq/delivery-message.ts";
import { createConsumer } from "../../../../receiver-kit/rabbitmq/rabbitmq-consumer.ts";
import { FakeAmqp } from "../../../support/fake-amqp.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";

async function createFixture(
  accept: (webhook: VerifiedWebhook) => Promise<void>,
  { amqp = new FakeAmqp(), partitions = 1, startMs = 0 } = {},
) {
  const clock = createFixtureClock();
  const errors: string[] = [];
  const note = (fields: object) => void errors.push(String((fields as { err?: unknown }).err));
  const receiver = {
    async accept(webhook: VerifiedWebhook) {
      await accept(webhook);
      return { outcome: "accepted" } as const;
    },
  };
  const consumer = createConsumer(
    {
      ...{ urls: ["amqp://one"], partitions, receivers: [receiver] },
      logger: { info() {}, warn: note, error: note },
      ...{ clock, random: () => 0, operationTimeoutMs: 2_000 },
    },
    amqp.connect,
  );
  const started = consumer.start();
  await clock.advance(startMs);
  await started;
  const deliver = (deliveryTag: number, id = `m${deliveryTag}`, redelivered = false, fields = {}) => {
    const webhook = { id, timestamp: 1, secretIndex: 0, body: Buffer.from("{}") };
    const properties = encodeDelivery(
      { webhook, source: "default", traceparent: undefined, receivedAtMs: 1 },
      "1",
    );
    amqp.latest.consumers.at(-1)?.deliver({
      ...{ content: webhook.body, fields: { deliveryTag, redelivered } },
      properties: { ...properties, ...fields },
    });
  };
  return { amqp, clock, consumer, deliver, errors };
}

/** Lets what is due now happen. */
const turn = async () => {
  for (let n = 0; n < 5; n++) await new Promise<void>((resolve) => setImmediate(resolve));
};

describe("rabbitmqConsumer", () => {
  it("acknowledges a batch with one message once all of it is stored", async () => {
    const { amqp, deliver } = await createFixture(async () => {});
    for (const tag of [1, 2, 3]) deliver(tag);
    await turn();
    expect(amqp.latest.acknowledged).toEqual([{ tag: 3, allUpTo: true }]);
  });

  it("acknowledges one by one around a message that is not stored, and stores that one later", async () => {
    let isFailing = true;
    const { amqp, clock, deliver } = await createFixture(async ({ id }) => {
      if (id === "m2" && isFailing) throw new Error("not now");
    });
    for (const tag of [1, 2, 3]) deliver(tag);
    await turn();
    expect(amqp.latest.acknowledged).toEqual([
      { tag: 1, allUpTo: false },
      { tag: 3, allUpTo: false },
    ]);
    isFailing = false;
    await clock.advance(1_000);
    await turn();
    expect(amqp.latest.acknowledged.at(-1)).toEqual({ tag: 2, allUpTo: true });
  });

  it("tries again ever more rarely while the inbox fails, and leaves the queue to others after 30 s", async () => {
    let attempts = 0;
    const { amqp, clock, consumer, deliver } = await createFixture(async () => {
      attempts += 1;
      throw new Error("the inbox is unavailable");
    });
    deliver(1);
    await turn();
    await clock.advance(29_000);
    expect(attempts).toBeLessThan(15);
    expect(amqp.latest.closedChannels).toBe(1); // that of the declaration
    await clock.advance(11_000);
    await turn();
    expect(amqp.latest.acknowledged).toEqual([]);
    expect(consumer.stats().messages).toMatchObject({ released: 1, stored: 0, parked: 0 });
    await clock.advance(10_000);
    await turn();
    // It returned, as one consumer among others.
    expect(amqp.latest.consumers).toHaveLength(2);
  });

  it("acknowledges a message that it parks once the parking queue has it, and never when that queue was deleted", async () => {
    const mismatch = new ReceiverError("WORKSPACE_MISMATCH", "the delivery is of another workspace");
    const { amqp, clock, consumer, deliver } = await createFixture(async () => {
      throw mismatch;
    });
    deliver(1);
    await turn();
    const [first] = amqp.latest.publishes;
    expect(first).toMatchObject({ exchange: "", options: { mandatory: true, persistent: true } });
    first?.giveBack();
    first?.confirm();
    await turn();
    expect(amqp.latest.acknowledged).toEqual([]);
    expect(consumer.stats().messages).toMatchObject({ parked: 0, stored: 0 });
    await clock.advance(1_000);
    await turn();
    amqp.latest.publishes.at(-1)?.confirm();
    await turn();
    expect(amqp.latest.publishes).toHaveLength(2);
    expect(amqp.latest.acknowledged).toEqual([{ tag: 1, allUpTo: true }]);
    expect(consumer.stats().messages).toMatchObject({ parked: 1 });
  });

  it.each([
    ["receiver to store a delivery", {}, "the receiver did not store a delivery within 60000 ms"],
    [
      "confirm of a delivery that it parks",
      { type: undefined },
      "no confirm was received within operationTimeoutMs (2000)",
    ],
  ])("waits only so long for the %s", async (_, fields, message) => {
    const { clock, deliver, errors } = await createFixture(() => new Promise(() => {}));
    deliver(1, "m1", false, fields);
    await clock.advance(120_000);
    expect(errors).toContain(`Error: ${message}`);
  });

  it("leaves a delivery in the format of a newer release in the queue, and stores the others", async () => {
    const stored: string[] = [];
    const { amqp, clock, consumer, deliver } = await createFixture(async ({ id }) => void stored.push(id));
    deliver(1, "newer", false, { type: "workspace-tasks.delivery.2" });
    for (let tag = 2; tag < 20; tag++) {
      deliver(tag);
      await turn();
      await clock.advance(100);
    }
    await turn();
    expect(stored).toHaveLength(18);
    expect(amqp.latest.acknowledged.map(({ tag }) => tag)).not.toContain(1);
    expect(amqp.latest.acknowledged.every(({ allUpTo }) => !allUpTo)).toBe(true);
    expect(amqp.latest.publishes).toEqual([]);
    await clock.advance(41_000);
    await turn();
    expect(consumer.stats().messages).toMatchObject({ parked: 0, stored: 18, released: 1 });
  });

  it("forgets what a lost connection delivered, and acknowledges only what the new one delivers again", async () => {
    let finish = () => {};
    const { amqp, clock, deliver } = await createFixture(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    deliver(1);
    await turn();
    const [first] = amqp.connections;
    await clock.advance(2_000);
    first?.emit("error", new Error("ECONNRESET"));
    await clock.advance(100);
    finish();
    await turn();
    expect(first?.acknowledged).toEqual([]);
    expect(amqp.connections).toHaveLength(2);
    deliver(7, "m1", true);
    await turn();
    finish();
    await turn();
    expect(amqp.latest.acknowledged).toEqual([{ tag: 7, allUpTo: true }]);
  });

  it("consumes the other queues while one does not respond, and that one later", async () => {
    let isSilent = true;
    const amqp = new FakeAmqp();
    let requests = 0;
    amqp.onRequest = async (name) => {
      if (name === "consume") requests += 1;
      if (name === "consume" && requests === 1 && isSilent) await new Promise<void>(() => {});
    };
    const { clock } = await createFixture(async () => {}, { amqp, partitions: 3, startMs: 1_000 });
    const queues = () => amqp.latest.consumers.map(({ queue }) => queue.slice(-2)).toSorted();
    expect(queues()).toEqual(["p1", "p2"]);
    isSilent = false;
    await clock.advance(5_000);
    await turn();
    expect(queues()).toEqual(["p0", "p1", "p2"]);
  });

  it("consumes again after the broker has cancelled it", async () => {
    const { amqp, clock, consumer, deliver } = await createFixture(async () => {});
    amqp.latest.consumers[0]?.deliver(null);
    await clock.advance(10_000);
    await turn();
    deliver(1);
    await turn();
    expect(amqp.latest.acknowledged).toEqual([{ tag: 1, allUpTo: true }]);
    expect(consumer.stats().messages.released).toBe(1);
  });
});
