// The child process of the benchmark `receiver-rabbitmq`: brings deliveries from RabbitMQ to an inbox per database, and then
// handles them. The first request warms it up.

import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type Receiver } from "@workspace-tasks/receiver-kit";
import { type PostgresTransaction, postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { rabbitmqConsumer, type ShardReceiver } from "@workspace-tasks/receiver-rabbitmq";
import pg from "pg";
import { startMeter } from "../meter.ts";
import { secret } from "../sample-delivery.ts";

export interface ShardRequest {
  readonly urls: readonly string[];
  /** Of the queues. */
  readonly name: string;
  readonly databases: readonly string[];
  /** Deliveries in the queues. */
  readonly count: number;
}

/** CPU time of this process per delivery, in µs. */
export interface ShardCosts {
  readonly store: number;
  readonly handle: number;
}

const concurrency = 16;
const logger = { info() {}, warn() {}, error: console.error };

async function run({ urls, name, databases, count }: ShardRequest): Promise<ShardCosts> {
  const pools = databases.map((connectionString) => new pg.Pool({ connectionString, max: concurrency + 6 }));
  const receivers = pools.map((pool) =>
    createReceiver({
      secrets: [secret],
      inbox: postgresInbox(pool),
      concurrency,
      logger,
      backlogMax: Number.MAX_SAFE_INTEGER,
    }),
  );
  const costs = {
    store: await store(receivers, { urls, name, count }),
    handle: await handle(receivers, count),
  };
  for (const pool of pools) await pool.end();
  return costs;
}

type Kit = Receiver<PostgresTransaction>;

async function store(
  receivers: readonly Kit[],
  { urls, name, count }: Omit<ShardRequest, "databases">,
): Promise<number> {
  let stored = 0;
  const counting = receivers.map(
    (receiver): ShardReceiver => ({
      source: receiver.source,
      async accept(webhook, context) {
        const result = await receiver.accept(webhook, context);
        stored += 1;
        return result;
      },
    }),
  );
  const stopMeter = startMeter();
  const shards = receivers.length;
  const consumer = rabbitmqConsumer({ urls, name, shards, receivers: counting, logger });
  await consumer.start();
  while (stored < count) await pause(5);
  await consumer.close();
  return stopMeter(count).cpuUs;
}

async function handle(receivers: readonly Kit[], count: number): Promise<number> {
  let handled = 0;
  for (const receiver of receivers)
    receiver.on("*", () => {
      handled += 1;
    });
  const stopMeter = startMeter();
  await Promise.all(receivers.map((receiver) => receiver.start()));
  while (handled < count) await pause(5);
  await Promise.all(receivers.map((receiver) => receiver.close()));
  return stopMeter(count).cpuUs;
}

process.on("disconnect", () => process.exit());
process.on("message", (request: ShardRequest) => {
  run(request).then(
    (costs) => process.send?.(costs),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.send?.("ready");
