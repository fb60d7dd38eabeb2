// The Express receiver of `npm start`, with a SQLite inbox.

import type { AddressInfo } from "node:net";
import { createReceiver, type ReceiverStats } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { type SqliteTransaction, sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import type { WorkspaceTasksClient } from "@workspace-tasks/sdk";
import express from "express";
import { printWebhook } from "./output.ts";
import { createTaskStates, type TaskStates } from "./task-states.ts";

export interface StartedReceiver {
  readonly url: string;
  /** Signing secrets of the endpoints that deliver here. */
  readonly secrets: string[];
  /** What the webhooks reported. */
  readonly states: TaskStates;
  reconcile(client: WorkspaceTasksClient): Promise<{ readonly examined: number; readonly enqueued: number }>;
  stats(): Promise<ReceiverStats>;
  close(): Promise<void>;
}

export async function startReceiver(path: string): Promise<StartedReceiver> {
  const secrets: string[] = [];
  const states = createTaskStates();
  const receiver = createReceiver<SqliteTransaction>({
    secrets: () => secrets, // read at every delivery, so that a new endpoint's secret is used at once
    inbox: sqliteInbox(path),
  });
  receiver.onState("task", (event) => {
    printWebhook(event.event, `${event.taskType} ${shortId(event.taskId)}`);
    states.setTask(event.taskId, event.status);
  });
  receiver.onState("subtask", (event) => {
    printWebhook(event.event, `${event.taskType} ${shortId(event.taskId)} ${event.subTaskType}`);
    states.addStage(event.taskId, event.subTaskId);
  });
  receiver.on("documents.synced", (event) => {
    printWebhook(event.event, `${event.documents.length} documents from ${event.providerKey}`);
  });

  const app = express();
  app.post("/webhooks", webhookMiddleware(receiver));
  await receiver.start();
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    secrets,
    states,
    reconcile: (client) => receiver.reconcile(client, { sinceMs: 600_000 }),
    stats: () => receiver.stats(),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await receiver.close();
    },
  };
}

/** Long enough to tell these few tasks apart. */
const shortId = (id: string) => `…${id.slice(-6)}`;
