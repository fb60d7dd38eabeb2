// The receiver of a pipeline: the application under test with an inbox in memory.

// #region pipeline
import { createServer } from "node:http";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";

const receiver = createReceiver({
  secrets: [process.env.WORKSPACE_TASKS_SIGNING_SECRET ?? ""],
  inbox: memoryInbox(),
});
await receiver.start();
createServer(webhookMiddleware(receiver)).listen(Number(process.env.PORT ?? 3000));
// #endregion
