// Receives webhooks with Express and an inbox in PostgreSQL that several processes share.
// When a process ends, another one handles its unfinished events. The example two-processes runs two of them.

// #region receiver
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { createClient } from "@workspace-tasks/sdk";
import express from "express";
import pg from "pg";

const concurrency = 8;
const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: concurrency + 6, // a transaction per running handler, one to listen, five to store, settle and notify
  connectionTimeoutMillis: 5_000,
  keepAlive: true, // firewalls drop connections that are idle for minutes
});
await pool.query(
  `CREATE TABLE IF NOT EXISTS task_states
     (task_id TEXT PRIMARY KEY, status TEXT NOT NULL, changes INT NOT NULL, changed_by INT NOT NULL)`,
);

const client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
});
const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
  inbox: postgresInbox(pool),
  concurrency,
  reconcile: { client, everyMs: Number(process.env["RECONCILE_MS"] ?? 300_000) },
  leaseMs: 5_000, // how long the events of a dead process stay claimed
});
receiver.onState("task", async (event, { transaction }) => {
  await transaction.query(
    `INSERT INTO task_states VALUES ($1, $2, 1, $3) ON CONFLICT (task_id) DO UPDATE
       SET status = excluded.status, changes = task_states.changes + 1, changed_by = excluded.changed_by`,
    [event.taskId, event.status, process.pid],
  );
});

const app = express();
app.post("/webhooks", webhookMiddleware(receiver));
await receiver.start();
const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
// #endregion

server.once("listening", () => process.send?.(server.address()));

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close();
  server.closeAllConnections();
  await pool.end();
  process.disconnect?.();
});
