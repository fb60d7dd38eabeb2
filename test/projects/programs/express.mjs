// Handles a delivery that came over HTTP, through the router of Express.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
import { deliver } from "./deliver.mjs";

const secrets = [];
const receiver = createReceiver({ secrets: () => secrets, inbox: memoryInbox() });
const statuses = [];
receiver.onState("task", ({ taskId, status }) => void statuses.push([taskId, status]));

const app = express();
app.post("/webhooks", webhookMiddleware(receiver));
app.use(express.json());
app.post("/echo", (request, response) => void response.json(request.body));
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const origin = `http://127.0.0.1:${server.address().port}`;

const overHttp = {
  fetch: async ({ headers, body }) =>
    fetch(`${origin}/webhooks`, { method: "POST", headers, body, duplex: "half" }),
};
const taskId = await deliver(secrets, receiver, overHttp);
assert.deepEqual(statuses.at(-1), [taskId, "COMPLETED"]);
const headers = { "content-type": "application/json" };
const echoed = await fetch(`${origin}/echo`, { method: "POST", headers, body: '{"a":1}' });
assert.deepEqual(await echoed.json(), { a: 1 });
await receiver.close();
server.close();
server.closeAllConnections();
