import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import Fastify from "fastify";
import { receiver } from "./receiver.ts";

const app = Fastify();
const receive = webhookMiddleware(receiver);

app.register(async (scope) => {
  // In this scope Fastify leaves the body unread, whatever its type.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
  scope.post("/webhooks", (request, reply) => {
    reply.hijack(); // the receiver sends the response
    receive(request.raw, reply.raw);
  });
});
app.post("/echo", async (request) => request.body);
app.addHook("preClose", async () => {
  await receiver.close();
  app.server.closeAllConnections(); // also those on which nothing was sent
});

await receiver.start();
await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
console.log("ready");

process.once("SIGTERM", async () => {
  await app.close();
  process.disconnect?.(); // a worker of node:cluster ends, too
});
