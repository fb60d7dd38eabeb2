// The child process of the benchmark `receiver-rabbitmq`: brings deliveries from RabbitMQ to an inbox, and then handles
// them. The first request warms it up.

import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type Receiver } from "@workspace-tasks/receiver-kit";
import { type PostgresTransaction, postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { rabbitmqConsumer, type ShardReceiver } from "@workspace-tasks/receiver-rabbitmq";
import pg from "pg";
import { startMeter } from "./meter.ts";
import { answerParent } from "./parent.ts";
import { secret } from "./sample-delivery.ts";

export interface ShardRequest {
  readonly urls: readonly string[];
  /** Of the queues. */
  readonly name: string;
  readonly database: string;
  /** Deliveries in the queues. */
  readonly count: number;
}

/** CPU time of this process per delivery, in µs. */
export interface ShardCosts {
  readonly store: number;
  readonly handle: number;
}

type Kit = Receiver<PostgresTransaction>;

const concurrency = 16;
const logger = { info() {}, warn() {}, error: console.error };

answerParent("ready", async (request: ShardRequest): Promise<ShardCosts> => {
  const pool = new pg.Pool({ connectionString: request.database, max: concurrency + 6 });
  const receiver = createReceiver({
    secrets: [secret],
    inbox: postgresInbox(pool),
    concurrency,
    logger,
    backlogMax: Number.MAX_SAFE_INTEGER,
  });
  const costs = { store: await store(receiver, request), handle: await handle(receiver, request.count) };
  await pool.end();
  return costs;
});

async function store(receiver: Kit, { urls, name, count }: ShardRequest): Promise<number> {
  let stored = 0;
  const counting: ShardReceiver = {
    source: receiver.source,
    async accept(webhook, context) {
      const result = await receiver.accept(webhook, context);
      stored += 1;
      return result;
    },
  };
  const stopMeter = startMeter();
  const consumer = rabbitmqConsumer({ urls, name, shards: 1, receivers: [counting], logger });
  await consumer.start();
  while (stored < count) await pause(5);
  await consumer.close();
  return stopMeter(count).cpuUs;
}

async function handle(receiver: Kit, count: number): Promise<number> {
  let handled = 0;
  receiver.on("*", () => {
    handled += 1;
  });
  const stopMeter = startMeter();
  await receiver.start();
  while (handled < count) await pause(5);
  await receiver.close();
  return stopMeter(count).cpuUs;
}
