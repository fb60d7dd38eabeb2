import { createReceiver } from "@workspace-tasks/receiver-kit";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";

export const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
  inbox: sqliteInbox(process.env["INBOX_FILE"] ?? "webhooks.db"),
});

receiver.onState("task", ({ taskId, status }) => console.log(`task ${taskId} is ${status}`));
