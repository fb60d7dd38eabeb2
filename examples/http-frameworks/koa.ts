import Router from "@koa/router";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import Koa from "koa";
import bodyParser from "koa-bodyparser";
import { receiver } from "./receiver.ts";

const receive = webhookMiddleware(receiver);
const webhooks = new Router();
webhooks.post("/webhooks", (context) => {
  context.respond = false; // the receiver sends the response
  receive(context.req, context.res);
});

const app = new Koa();
app.use(webhooks.routes()); // before the body parser
app.use(bodyParser());
app.use((context) => {
  if (context.path === "/echo") context.body = context.request.body; // other paths stay 404
});

await receiver.start();
const server = app.listen(Number(process.env["PORT"] ?? 3000), () => console.log("ready"));

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close();
  server.closeAllConnections(); // also those on which nothing was sent
  process.disconnect?.(); // a worker of node:cluster ends, too
});
