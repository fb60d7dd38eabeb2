// Receives webhooks with a fetch handler under Hono.
// Next.js route handlers and other frameworks with fetch handlers on Node work the same way.

import { createMockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";

// The application:

// #region receiver
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { Hono } from "hono";

const secrets: string[] = [];
const receiver = createReceiver({
  secrets: () => secrets, // read at every delivery
  inbox: memoryInbox(), // for this example; in production use sqliteInbox or postgresInbox
});
receiver.on("task.*", (event) => console.log(`${event.event}: ${event.taskType} ${event.taskId}`));

const app = new Hono();
app.post("/webhooks", (context) => receiver.fetch(context.req.raw)); // the raw request, because its bytes are signed
await receiver.start();
// #endregion

// The mock calls the app in this process, without a socket.
const url = "https://receiver.example/webhooks";
const received = new Map([[url, (request: Request) => app.fetch(request)]]);
await using mock = await createMockServer({ listen: false, receivers: received });
await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey, fetch: mock.fetch });
const { signingSecret } = await client.webhooks.endpoints.create({ url });
secrets.push(signingSecret);

const completed = new Promise((resolve) => receiver.on("task.completed", resolve));
await mock.control.startTask({ taskType: "TAX_PREP", progression: "immediate", stages: [] });
await completed;
await receiver.close();
