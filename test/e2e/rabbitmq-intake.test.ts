// An intake acknowledges a delivery when the broker has it, and its consumer brings it to a receiver later: perhaps twice,
// perhaps after newer ones, never changed, and not never. Proxies between both and the broker lose what the tests want lost.
import { setTimeout as pause } from "node:timers/promises";
import { type ConsumeMessage, connect } from "amqplib";
import { beforeAll, expect, it } from "vitest";
import { silentLogger } from "workspace-tasks/receiver-kit";
import { rabbitmqConsumer, rabbitmqIntake } from "workspace-tasks/receiver-kit/rabbitmq";
import { createRandom } from "../simulation/random.ts";
import { createFreezingProxy } from "../support/freezing-proxy.ts";
import { type AcceptedDelivery, deliveryAt, IntakeTarget } from "../support/intake-target.ts";
import { sharedRabbitmqUrl } from "../support/shared-server.ts";
import { secretA } from "../support/signed-delivery.ts";
import { describeWithRabbitmq, hasRabbitmq } from "../support/with-rabbitmq.ts";

let names = 0;
let url: string;
beforeAll(async () => {
  if (hasRabbitmq) url = await sharedRabbitmqUrl();
}, 300_000);

/** A running intake with one consumer, which brings deliveries to the target. */
async function createFixture() {
  const target = new IntakeTarget();
  const [toIntake, toConsumer] = [
    await createFreezingProxy(Number(new URL(url).port)),
    await createFreezingProxy(Number(new URL(url).port)),
  ];
  names += 1;
  const name = `checks-${process.pid}-${names}`;
  const via = ({ port }: { readonly port: number }) => ({
    ...{ urls: [`amqp://guest:guest@127.0.0.1:${port}`], name, partitions: 1, logger: silentLogger },
    ...{ heartbeatSeconds: 1, operationTimeoutMs: 5_000 },
  });
  const intake = rabbitmqIntake({ ...via(toIntake), secrets: [secretA] });
  const startConsumer = async () => {
    const started = rabbitmqConsumer({ ...via(toConsumer), receivers: [target] });
    await started.start();
    return started;
  };
  await intake.start();
  let consumer = await startConsumer();
  const killConsumer = async () => {
    toConsumer.closeExisting();
    await consumer.close({ graceMs: 0 });
  };
  return {
    ...{ intake, target },
    /** The broker gets the next delivery, and its confirm does not arrive. */
    async loseConfirm() {
      toIntake.freezeResponses();
    },
    /** Ends the consumer as `kill -9` does, and starts another one. */
    async killConsumer() {
      await killConsumer();
      consumer = await startConsumer();
    },
    /** Neither reaches the broker until the returned function is called. */
    async disconnect() {
      for (const proxy of [toIntake, toConsumer]) {
        proxy.closeExisting();
        proxy.freezeAll();
      }
      return async () => {
        for (const proxy of [toIntake, toConsumer]) proxy.heal();
      };
    },
    /** The broker delivers what it has again, in another order. */
    async reorder() {
      await killConsumer();
      await publishReversed(url, `${name}.v1.s0of1.p0`);
      consumer = await startConsumer();
    },
    async [Symbol.asyncDispose]() {
      await intake.close({ graceMs: 0 });
      await consumer.close({ graceMs: 0 });
      for (const proxy of [toIntake, toConsumer]) await proxy[Symbol.asyncDispose]();
    },
  };
}

/** Replaces what is in a queue by two copies of it in reversed order. */
async function publishReversed(url: string, queue: string): Promise<void> {
  const connection = await connect(url);
  const channel = await connection.createConfirmChannel();
  // What a killed consumer had is in the queue again once that is not its consumer any more.
  while ((await channel.checkQueue(queue)).consumerCount > 0) await pause(20);
  const { messageCount } = await channel.checkQueue(queue);
  const taken: ConsumeMessage[] = [];
  await new Promise<void>((resolve) => {
    if (messageCount === 0) return resolve();
    void channel.consume(queue, (message) => {
      if (!message) return;
      taken.push(message);
      if (taken.length >= messageCount) resolve();
    });
  });
  const reversed = taken.toReversed();
  for (const { content, properties } of [...reversed, ...reversed])
    channel.sendToQueue(queue, content, properties);
  await channel.waitForConfirms();
  // Not what was delivered again meanwhile: the copies.
  for (const message of taken) channel.ack(message);
  await channel.close();
  await connection.close();
}

type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** The response to either is 503, and the sender sends again. */
const unavailable = /^(INBOX|BROKER)_UNAVAILABLE$/;
const deliveries = (count: number) => Array.from({ length: count }, (_, n) => deliveryAt(n));
const acceptAll = ({ intake }: Fixture, all: readonly AcceptedDelivery[]) =>
  Promise.all(all.map(({ webhook, context }) => intake.accept(webhook, context)));

const expectRejected = ({ intake }: Fixture, { webhook, context }: AcceptedDelivery) =>
  expect(intake.accept(webhook, context)).rejects.toMatchObject({
    code: expect.stringMatching(unavailable),
  });

/** Sends until it is acknowledged, as the service does; an intake may need a moment to connect again. */
async function acceptAgain({ intake, target }: Fixture, { webhook, context }: AcceptedDelivery) {
  await target.until(async () => {
    try {
      await intake.accept(webhook, context);
      return true;
    } catch (error) {
      if (unavailable.test(String((error as { code?: unknown }).code))) return false;
      throw error;
    }
  }, "a delivery that was sent again was not acknowledged");
}

describeWithRabbitmq("the intake on RabbitMQ", () => {
  it("brings every acknowledged delivery to the receiver, byte for byte, with its id, time, secret, tenant and trace", async () => {
    await using fixture = await createFixture();
    const all = deliveries(40);
    await acceptAll(fixture, all);
    await fixture.target.untilStored(all);
    for (const delivery of all) fixture.target.checkStored(delivery);
  });

  it("loses no delivery whose first attempts at the receiver fail", async () => {
    await using fixture = await createFixture();
    const random = createRandom(1);
    const all = deliveries(30);
    fixture.target.failsNow = () => random.happens(0.3);
    await acceptAll(fixture, all);
    await fixture.target.untilStored(all);
  });

  it("keeps a repeated delivery: the receiver decides whether it is a duplicate", async () => {
    await using fixture = await createFixture();
    const delivery = deliveryAt(0);
    await acceptAll(fixture, [delivery, delivery, delivery]);
    await fixture.target.untilStored([delivery]);
    fixture.target.checkStored(delivery);
  });

  it("acknowledges nothing whose confirm was lost, and the delivery that is sent again arrives", async () => {
    await using fixture = await createFixture();
    const delivery = deliveryAt(0);
    await fixture.loseConfirm();
    await expectRejected(fixture, delivery);
    await acceptAgain(fixture, delivery);
    await fixture.target.untilStored([delivery]);
  });

  it("brings every acknowledged delivery to the receiver when a consumer is killed while it stores", async () => {
    await using fixture = await createFixture();
    const all = deliveries(40);
    fixture.target.isSlow = true;
    await acceptAll(fixture, all);
    await fixture.target.untilAttempted();
    await fixture.killConsumer();
    fixture.target.isSlow = false;
    await fixture.target.untilStored(all);
    for (const delivery of all) fixture.target.checkStored(delivery);
  });

  it("rejects deliveries while the broker cannot confirm them, and keeps those that it has acknowledged", async () => {
    await using fixture = await createFixture();
    const [before, during] = [deliveries(10), deliveryAt(99)];
    fixture.target.isFailing = true;
    await acceptAll(fixture, before);
    await fixture.target.untilAttempted();
    expect(fixture.target.storedIds()).toEqual([]);
    const heal = await fixture.disconnect();
    await expectRejected(fixture, during);
    await heal();
    fixture.target.isFailing = false;
    await fixture.target.untilStored(before);
    await acceptAgain(fixture, during);
    await fixture.target.untilStored([during]);
  });

  it("loses nothing when the broker reorders and repeats what it has", async () => {
    await using fixture = await createFixture();
    const all = deliveries(30);
    fixture.target.isFailing = true;
    await acceptAll(fixture, all);
    await fixture.reorder();
    fixture.target.isFailing = false;
    await fixture.target.untilStored(all);
    for (const delivery of all) fixture.target.checkStored(delivery);
  });
});
