// A process with an intake, the receivers of two shards and their consumer, as a user would write it. It sends itself
// deliveries, stores nothing more after SIGUSR2, and ends on SIGTERM.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { rabbitmqConsumer, rabbitmqIntake, type ShardReceiver } from "@workspace-tasks/receiver-rabbitmq";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretA } from "../../support/signed-delivery.ts";

const [url = ""] = process.argv.slice(2);
const logger = {
  info() {},
  warn: (_: object, message: string) => console.error(message),
  error: (_: object, message: string) => console.error(message),
};
const broker = { urls: [url], shards: 2, partitions: 2, replicas: 1, logger };
const terminated = once(process, "SIGTERM");
let isHanging = false;
process.on("SIGUSR2", () => {
  isHanging = true;
});

const receivers = [0, 1].map(() => {
  const receiver = createReceiver({ secrets: [secretA], inbox: memoryInbox(), logger: silentLogger });
  receiver.on("task.*", async () => {});
  return receiver;
});
for (const receiver of receivers) await receiver.start();
const hangable = receivers.map(
  (receiver): ShardReceiver => ({
    accept: (...args) => (isHanging ? new Promise(() => {}) : receiver.accept(...args)),
  }),
);
const intake = rabbitmqIntake({ ...broker, secrets: [secretA] });
await intake.start();
const consumer = rabbitmqConsumer({ ...broker, receivers: hangable });
await consumer.start();

let isSending = true;
const sending = (async () => {
  for (let n = 0; isSending; n++) {
    const body = Buffer.from(JSON.stringify(sampleEvent({ taskId: `task-${n % 50}` })));
    const webhook = { id: `m${n}`, timestamp: 1_772_357_400, secretIndex: 0, body };
    void intake.accept(webhook).catch(() => {});
    await pause(5);
  }
})();
console.log("consuming");
await terminated;
isSending = false;
await sending;
await intake.close();
await consumer.close();
for (const receiver of receivers) await receiver.close();
