// The promises of an intake, on RabbitMQ. Proxies between its processes and the broker lose what the checks want lost.
import { setTimeout as pause } from "node:timers/promises";
import { type ConsumeMessage, connect } from "amqplib";
import { beforeAll, it } from "vitest";
import { silentLogger } from "workspace-tasks/receiver-kit";
import { rabbitmqConsumer, rabbitmqIntake, type ShardReceiver } from "workspace-tasks/receiver-kit/rabbitmq";
import { type IntakeFixture, intakeChecks, registerChecks } from "workspace-tasks/receiver-kit/testing";
import { createFreezingProxy } from "../support/freezing-proxy.ts";
import { sharedRabbitmqUrl } from "../support/shared-server.ts";
import { secretA } from "../support/signed-delivery.ts";
import { describeWithRabbitmq, hasRabbitmq } from "../support/with-rabbitmq.ts";

let names = 0;
let url: string;
beforeAll(async () => {
  if (hasRabbitmq) url = await sharedRabbitmqUrl();
}, 300_000);

async function createFixture(target: ShardReceiver): Promise<Required<IntakeFixture>> {
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
    intake,
    async loseConfirm() {
      toIntake.freezeResponses();
    },
    async killConsumer() {
      await killConsumer();
      consumer = await startConsumer();
    },
    async stopEngine() {
      for (const proxy of [toIntake, toConsumer]) {
        proxy.closeExisting();
        proxy.freezeAll();
      }
      return async () => {
        for (const proxy of [toIntake, toConsumer]) proxy.heal();
      };
    },
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

registerChecks(
  { describe: describeWithRabbitmq, it },
  "the intake on RabbitMQ",
  intakeChecks(createFixture, {
    hooks: ["loseConfirm", "killConsumer", "stopEngine", "reorder"],
    deliveredWithinMs: 20_000,
  }),
);
