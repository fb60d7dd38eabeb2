// Express 5 and 4.

// #region express
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
import { receiver } from "./receiver.ts";

const app = express();
app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
app.use(express.json());
app.post("/echo", (request, response) => void response.json(request.body));

await receiver.start();
const server = app.listen(Number(process.env["PORT"] ?? 3000), (error) => {
  if (error) throw error; // the port is in use
  console.log("ready");
});

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close();
});
// #endregion
