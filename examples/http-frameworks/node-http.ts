import { createServer } from "node:http";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { receiver } from "./receiver.ts";

const receive = webhookMiddleware(receiver);
const server = createServer((request, response) => {
  const [path] = request.url?.split("?") ?? [];
  if (path === "/webhooks") receive(request, response);
  else response.writeHead(404).end();
});

await receiver.start();
server.listen(Number(process.env["PORT"] ?? 3000), () => console.log("ready"));

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close();
  server.closeAllConnections(); // also those on which nothing was sent
  process.disconnect?.(); // a worker of node:cluster ends, too
});
