// A process of receivers behind RabbitMQ, as a user would write it: an intake under Express, or the receivers of all shards
// with their consumer. Every handled event inserts one row into `effects` of its shard.

import { once } from "node:events";
import { createServer } from "node:http";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { rabbitmqConsumer, rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import express from "express";
import pg from "pg";
import { listen } from "../../support/listen.ts";
import { machineMicros } from "../../support/machine-time.ts";
import { secretA } from "../../support/signed-delivery.ts";

export interface RabbitmqReceiverOptions {
  readonly role: "intake" | "consumer";
  readonly urls: readonly string[];
  readonly name: string;
  /** False for time limits so short that a run of a few seconds shows what they do. */
  readonly hasUsualTimes: boolean;
  /** The database of each shard. */
  readonly shards: readonly string[];
}

// Exit when the test process ends without stopping this one.
process.stdin.once("end", () => process.exit(1));
process.stdin.once("close", () => process.exit(1));
process.stdin.resume();

// SIGUSR2 sets the clock forward, less than signatures tolerate; the next one sets it back.
const { now } = Date;
let aheadMs = 0;
Date.now = () => now() + aheadMs;
process.on("SIGUSR2", () => {
  aheadMs = aheadMs === 0 ? 240_000 : 0;
});

const { role, urls, name, shards, hasUsualTimes } = JSON.parse(
  process.argv[2] ?? "{}",
) as RabbitmqReceiverOptions;
const logger = {
  info() {},
  warn: (fields: object, message: string) => console.error(message, fields),
  error: (fields: object, message: string) => console.error(message, fields),
};
const terminated = once(process, "SIGTERM");
const broker = {
  urls,
  name,
  logger,
  shards: shards.length,
  partitions: 2,
  ...(hasUsualTimes ? {} : { heartbeatSeconds: 1, operationTimeoutMs: 3_000 }),
};

if (role === "intake") {
  const intake = rabbitmqIntake({ ...broker, secrets: [secretA] });
  await intake.start();
  const app = express();
  app.post("/webhooks", webhookMiddleware(intake));
  const http = createServer(app);
  const server = await listen(http);
  console.log(`port ${server.port}`);
  await terminated;
  // Requests in progress are answered before their connections are closed.
  http.close();
  await intake.close();
  http.closeAllConnections();
} else {
  const receivers = shards.map((connectionString) => {
    const pool = new pg.Pool({ connectionString, max: 14, connectionTimeoutMillis: 2_000 });
    const receiver = createReceiver({
      secrets: [secretA],
      inbox: postgresInbox(pool),
      logger,
      leaseMs: 2_000,
      pollMs: 200,
      retry: { firstDelayMs: 50, attemptsMax: 1_000 },
    });
    receiver.on("task.*", async ({ taskId, occurredAt }, { id, stale, transaction }) => {
      const atMicros = machineMicros();
      const values = [id, taskId, occurredAt, String(stale), String(process.pid), atMicros, atMicros];
      await transaction.query("INSERT INTO effects VALUES ($1, $2, $3, $4, $5, $6, $7)", values);
    });
    return receiver.onState("task", async ({ taskId, status, occurredAt }, { transaction }) => {
      await transaction.query(
        `INSERT INTO task_states VALUES ($1, $2, $3)
         ON CONFLICT (task) DO UPDATE SET status = excluded.status, occurred_at = excluded.occurred_at`,
        [taskId, status, occurredAt],
      );
    });
  });
  await Promise.all(receivers.map((receiver) => receiver.start()));
  const consumer = rabbitmqConsumer({ ...broker, receivers });
  await consumer.start();
  console.log("consuming");
  await terminated;
  await consumer.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
}
process.exit(0);
