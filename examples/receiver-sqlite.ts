// An Express receiver on a SQLite file: each event takes effect exactly once, in the order of its task.

// #region receiver
import express from "express";
import Database from "libsql";
import { createReceiver } from "workspace-tasks/receiver-kit";
import { webhookMiddleware } from "workspace-tasks/receiver-kit/express";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";

// The application's own table may live in the same file.
new Database("webhooks.db").exec(
  "CREATE TABLE IF NOT EXISTS task_board (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)",
);

const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""], // several while one is rotated
  inbox: sqliteInbox("webhooks.db"),
});

receiver.onState("task", async (event, { transaction }) => {
  // Commits together with the mark that the event was handled, or not at all.
  await transaction.query("INSERT OR REPLACE INTO task_board VALUES (?, ?)", [event.taskId, event.status]);
  console.log(`${event.taskType} ${event.taskId} is ${event.status}`);
});

const app = express();
app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
await receiver.start();
const server = app.listen(Number(process.env["PORT"] ?? 3000), () => console.log("ready for webhooks"));
// #endregion

// #region shutdown
process.once("SIGTERM", async () => {
  server.close(); // no new deliveries
  await receiver.close(); // finishes what it handles, gives back the rest
});
// #endregion
