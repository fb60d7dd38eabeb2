// Express with a body parser that runs first and keeps the bytes.

import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
import { receiver } from "./receiver.ts";

// #region parsed
const app = express();
app.use(
  express.json({
    limit: "1mb",
    verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }),
  }),
);
app.post("/webhooks", webhookMiddleware(receiver)); // takes the bytes of rawBody
// #endregion
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
