// Deliveries whose request an adapter of a platform or a test library composed: each is stored, and a forged one is not.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:http2";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { createHandler } from "azure-function-express";
import express from "express";
import fastify from "fastify";
import { Webhook } from "standardwebhooks";
import supertest from "supertest";

const [key, otherKey] = [7, 9].map((byte) => Buffer.alloc(32, byte).toString("base64"));
const receiver = createReceiver({ secrets: [`whsec_${key}`], inbox: memoryInbox() });
const receive = webhookMiddleware(receiver);
const app = express();
app.post("/webhooks", receive);

function delivery(signingKey) {
  const id = randomUUID();
  const now = new Date();
  const event = { event: "task.running", version: "2", id, taskId: id, taskType: "TAX_PREP" };
  const others = { status: "RUNNING", workspaceId: "ws", occurredAt: now.toISOString(), name: "Zoë" };
  const body = JSON.stringify({ ...event, ...others });
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1_000)),
    "webhook-signature": new Webhook(signingKey).sign(id, now, body),
  };
  return { headers, body };
}

const azure = createHandler(app);
const inject = fastify();
inject.removeAllContentTypeParsers();
inject.addContentTypeParser("*", (_request, _payload, done) => done(null));
inject.post("/webhooks", (request, reply) => {
  reply.hijack();
  receive(request.raw, reply.raw);
});

const ways = {
  "azure-function-express": ({ headers, body }) =>
    new Promise((resolve) => {
      const req = {
        method: "POST",
        originalUrl: "https://a.example/webhooks",
        headers,
        rawBody: body,
        body: JSON.parse(body),
      };
      const context = { bindings: { req }, log: () => {}, res: {} };
      context.done = () => resolve(context.res.status);
      azure(context, req);
    }),
  supertest: async ({ headers, body }) =>
    (await supertest(app).post("/webhooks").set(headers).type("application/json").send(body)).status,
  "fastify.inject": async ({ headers, body }) =>
    (await inject.inject({ method: "POST", url: "/webhooks", headers, payload: body })).statusCode,
  "HTTP/2": async ({ headers, body }) => {
    const server = createServer(receive).listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connect(`http://127.0.0.1:${server.address().port}`);
    const stream = session.request({ ":method": "POST", ":path": "/webhooks", ...headers });
    stream.end(body);
    const [responseHeaders] = await once(stream, "response");
    // Until it is read, the session stays open.
    stream.resume();
    session.close();
    server.close();
    return responseHeaders[":status"];
  },
};
for (const [way, send] of Object.entries(ways)) {
  assert.equal(await send(delivery(key)), 200, way);
  assert.equal(await send(delivery(otherKey)), 401, way);
}
assert.equal((await receiver.stats()).ingest.accepted, Object.keys(ways).length);
await receiver.close();
await inject.close();
console.log("stored each");
