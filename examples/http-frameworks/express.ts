import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
import { receiver } from "./receiver.ts";

const app = express();
app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
app.use(express.json());
app.post("/echo", (request, response) => void response.json(request.body));

await receiver.start();
const server = app.listen(Number(process.env["PORT"] ?? 3000));
server.once("listening", () => console.log("ready"));

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close();
  server.closeAllConnections(); // also those on which nothing was sent
  process.disconnect?.(); // a worker of node:cluster ends, too
});
