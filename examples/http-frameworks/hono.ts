import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { receiver } from "./receiver.ts";

const app = new Hono();
app.post("/webhooks", (context) => receiver.fetch(context.req.raw)); // the raw request: its bytes are signed
app.post("/echo", async (context) => context.json(await context.req.json()));

await receiver.start();
const port = Number(process.env["PORT"] ?? 3000);
const server = serve({ fetch: app.fetch, port }, () => console.log("ready"));

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close();
  if ("closeAllConnections" in server) server.closeAllConnections(); // also those on which nothing was sent
  process.disconnect?.(); // a worker of node:cluster ends, too
});
