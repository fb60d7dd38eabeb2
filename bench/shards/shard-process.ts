// The child process of the benchmark `receiver-rabbitmq`: shard-process.ts AMQP_URL#NAME DATABASE_URL…
// Brings deliveries from RabbitMQ to an inbox per database, and then handles them.

import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { createReceiver } from "workspace-tasks/receiver-kit";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { rabbitmqConsumer, type ShardReceiver } from "workspace-tasks/receiver-kit/rabbitmq";
import { startMeter } from "../meter.ts";
import { secret } from "../sample-delivery.ts";

/** `store` or `handle`: how many deliveries. The response is CPU time per delivery. */
export interface ShardRequest {
  readonly step: "store" | "handle";
  readonly count: number;
}

const concurrency = 16;
const [location = "", ...databases] = process.argv.slice(2);
const { href, hash } = new URL(location);
const logger = { info() {}, warn() {}, error: console.error };
const done = { store: 0, handle: 0 };

const receivers = databases.map((connectionString) => {
  const pool = new pg.Pool({ connectionString, max: concurrency + 6 });
  const receiver = createReceiver({
    ...{ secrets: [secret], inbox: postgresInbox(pool), concurrency, logger },
    backlogMax: Number.MAX_SAFE_INTEGER,
  });
  receiver.on("*", () => {
    done.handle += 1;
  });
  return receiver;
});

async function store(): Promise<() => Promise<void>> {
  const counting = receivers.map(
    (receiver): ShardReceiver => ({
      source: receiver.source,
      async accept(webhook, context) {
        const result = await receiver.accept(webhook, context);
        done.store += 1;
        return result;
      },
    }),
  );
  const shards = databases.length;
  const urls = [href.replace(hash, "")];
  const consumer = rabbitmqConsumer({ urls, name: hash.slice(1), shards, receivers: counting, logger });
  await consumer.start();
  return () => consumer.close();
}

async function handle(): Promise<() => Promise<void>> {
  await Promise.all(receivers.map((receiver) => receiver.start()));
  return async () => {
    await Promise.all(receivers.map((receiver) => receiver.close()));
  };
}

async function run({ step, count }: ShardRequest): Promise<number> {
  const stopMeter = startMeter();
  const stop = await { store, handle }[step]();
  while (done[step] < count) await pause(5);
  await stop();
  return stopMeter(count).cpuUs;
}

process.on("disconnect", () => process.exit());
process.on("message", (request: ShardRequest) => {
  run(request).then(
    (cpuUs) => process.send?.(cpuUs),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.send?.("ready");
