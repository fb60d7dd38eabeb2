// Receives webhooks through RabbitMQ, which keeps them while PostgreSQL is down, into two shards.

import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { clientOfShard, rabbitmqConsumer, rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import { createClient } from "@workspace-tasks/sdk";
import express from "express";
import pg from "pg";

// Processes that receive: they verify and publish.
// #region intake
const secrets = [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""];
const urls = (process.env["RABBITMQ_URLS"] ?? "amqp://guest:guest@localhost").split(",");
const broker = { urls, shards: 2, replicas: urls.length };
const intake = rabbitmqIntake({ ...broker, secrets });
await intake.start();

const app = express();
app.post("/webhooks", webhookMiddleware(intake));
// #endregion

// Processes that store and handle, which may be the same: here with two shards in two schemas of one server.
// #region consumer
const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: 28, // two receivers, each with 8 handlers, and 6 clients to listen, store, settle and notify
  connectionTimeoutMillis: 5_000,
});
const receivers = ["shard0", "shard1"].map((schema) =>
  createReceiver({ secrets, inbox: postgresInbox(pool, { schema }) }),
);
await pool.query("CREATE TABLE IF NOT EXISTS task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)");
for (const receiver of receivers) {
  receiver.onState("task", async ({ taskId, status }, { transaction }) => {
    await transaction.query(
      "INSERT INTO task_states VALUES ($1, $2) ON CONFLICT (task_id) DO UPDATE SET status = excluded.status",
      [taskId, status],
    );
  });
  await receiver.start();
}
const consumer = rabbitmqConsumer({ ...broker, receivers });
await consumer.start();
// #endregion

const apiKey = process.env["WORKSPACE_TASKS_API_KEY"];
if (apiKey) {
  const client = createClient({ baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "", apiKey });
  // #region reconcile
  for (const [shard, receiver] of receivers.entries()) {
    await receiver.reconcile(clientOfShard(client, { shard, shards: receivers.length }));
  }
  // #endregion
}

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
server.once("listening", () => console.log("ready for webhooks"));

process.once("SIGTERM", async () => {
  // #region close
  server.close();
  await intake.close();
  server.closeAllConnections();
  await consumer.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
  await pool.end();
  // #endregion
  process.disconnect?.();
});
