import { createReceiver } from "@workspace-tasks/receiver-kit";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";

function create() {
  const receiver = createReceiver({
    secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
    inbox: sqliteInbox(process.env["INBOX_FILE"] ?? "webhooks.db"),
  });
  receiver.onState("task", ({ taskId, status }) => console.log(`task ${taskId} is ${status}`));
  return receiver;
}

// Next.js bundles routes and instrumentation apart, and `next build` imports them without the secret.
const shared = globalThis as { receiver?: ReturnType<typeof create> };
export const getReceiver = () => (shared.receiver ??= create());
