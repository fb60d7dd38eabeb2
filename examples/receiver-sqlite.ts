// Receives webhooks with Express and an inbox in a SQLite file.

// #region receiver
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { createClient } from "@workspace-tasks/sdk";
import express from "express";
import Database from "libsql";

// The application's own table may live in the same file.
new Database("webhooks.db").exec(
  "PRAGMA page_size = 2048; CREATE TABLE IF NOT EXISTS task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)",
);

const client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
});
const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""], // two during a rotation
  inbox: sqliteInbox("webhooks.db"),
  reconcile: { client }, // finds the tasks of before, and what deliveries have missed
});

receiver.onState("task", async (event, { transaction }) => {
  // Committed in one transaction with the state of the event.
  await transaction.query("INSERT OR REPLACE INTO task_states VALUES (?, ?)", [event.taskId, event.status]);
  console.log(`${event.taskType} ${event.taskId} is ${event.status}`);
});

const app = express();
app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
await receiver.start();
const server = app.listen(Number(process.env["PORT"] ?? 3000), (error) => {
  if (error) throw error; // the port is in use
  console.log("ready for webhooks");
});
// #endregion

// #region shutdown
process.once("SIGTERM", async () => {
  server.close(); // no new connections
  await receiver.close(); // finishes the running handlers, releases the other events
  server.closeAllConnections(); // also those on which nothing was sent: Node waits for them
  process.disconnect?.(); // a worker of node:cluster ends, too
});
// #endregion
