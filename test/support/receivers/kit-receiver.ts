import { createServer } from "node:http";
import { createReceiver, memoryInbox, type RequestLimitOptions } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
import { type RunningReceiver, serveReceiver } from "./served-receiver.ts";

const silent = { info() {}, warn() {}, error() {} };

/** This kit's receiver under Express, with handlers that count their calls. */
export async function startKitReceiver(
  secrets: readonly string[],
  limits: Partial<RequestLimitOptions> = {},
): Promise<RunningReceiver> {
  const counts = new Map<string, number>();
  const statuses = new Map<string, string>();
  const receiver = createReceiver({ secrets, inbox: memoryInbox(), limits, logger: silent });
  receiver.on("*", (_, { id }) => void counts.set(id, (counts.get(id) ?? 0) + 1));
  receiver.onState("task", ({ taskId, status }) => void statuses.set(taskId, status));
  await receiver.start();
  const app = express();
  app.all("/webhooks", webhookMiddleware(receiver));
  app.get("/effects", ({ query }, response) => {
    const [count, status] = [counts.get(String(query["id"])) ?? 0, statuses.get(String(query["taskId"]))];
    response.json({ count, status });
  });
  const running = await serveReceiver(createServer(app));
  return {
    ...running,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await receiver.close();
    },
  };
}
