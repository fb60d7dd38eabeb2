// Deliveries whose request an adapter of a platform or a test library composed: each is stored, and a forged one is not.
import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:http2";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { createHandler } from "azure-function-express";
import express from "express";
import fastify from "fastify";
import serverlessHttp from "serverless-http";
import supertest from "supertest";

const key = Buffer.alloc(32, 7);
const receiver = createReceiver({ secrets: [`whsec_${key.toString("base64")}`], inbox: memoryInbox() });
const receive = webhookMiddleware(receiver);
const app = express();
app.post("/webhooks", receive);

function delivery(signingKey = key) {
  const id = randomUUID();
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const event = {
    event: "task.running",
    version: "2",
    id,
    taskId: id,
    taskType: "TAX_PREP",
    status: "RUNNING",
  };
  const body = JSON.stringify({
    ...event,
    workspaceId: "ws",
    occurredAt: new Date().toISOString(),
    name: "Zoë",
  });
  const mac = createHmac("sha256", signingKey).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` },
    body,
  };
}

const lambda = serverlessHttp(app);
const azure = createHandler(app);
const inject = fastify();
inject.removeAllContentTypeParsers();
inject.addContentTypeParser("*", (_request, _payload, done) => done(null));
inject.post("/webhooks", (request, reply) => {
  reply.hijack();
  receive(request.raw, reply.raw);
});

const ways = {
  "serverless-http": async ({ headers, body }) => {
    const http = { method: "POST", path: "/webhooks", sourceIp: "127.0.0.1" };
    const event = { version: "2.0", rawPath: "/webhooks", rawQueryString: "", requestContext: { http } };
    return (await lambda({ ...event, headers, body, isBase64Encoded: false }, {})).statusCode;
  },
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
    session.close();
    server.close();
    return responseHeaders[":status"];
  },
};
for (const [way, send] of Object.entries(ways)) {
  assert.equal(await send(delivery()), 200, way);
  assert.equal(await send(delivery(Buffer.alloc(32, 9))), 401, way);
}
assert.equal((await receiver.stats()).ingest.accepted, Object.keys(ways).length);
await receiver.close();
await inject.close();
console.log("stored each");
