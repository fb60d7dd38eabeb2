import type { AddressInfo } from "node:net";
import express from "express";
import { createReceiver, type ReceiverStats } from "workspace-tasks/receiver-kit";
import { webhookMiddleware } from "workspace-tasks/receiver-kit/express";
import { type SqliteTransaction, sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import type { Task, WorkspaceTasksClient } from "workspace-tasks/sdk";
import { type BoardRow, heard } from "./narrator.ts";

export type StartedReceiver = {
  readonly url: string;
  /** Signing secrets of the endpoints that deliver here. */
  readonly secrets: string[];
  /** What the receiver believes, from webhooks alone. */
  board(): readonly BoardRow[];
  /** Resolves with the ids of the tasks once webhooks have told of so many. */
  heardOf(count: number): Promise<readonly string[]>;
  /** Resolves once webhooks have told all there is to tell of these tasks. */
  settled(tasks: readonly Task[]): Promise<unknown>;
  reconcile(client: WorkspaceTasksClient): Promise<{ readonly examined: number; readonly enqueued: number }>;
  stats(): Promise<ReceiverStats>;
  close(): Promise<void>;
};

const patienceMs = 60_000;

/** An Express app whose state handlers keep a board of tasks. */
export async function startReceiver(path: string): Promise<StartedReceiver> {
  const secrets: string[] = [];
  const board = createBoard();
  const receiver = createReceiver<SqliteTransaction>({
    // Asked at every delivery, so that secrets of new endpoints count at once.
    secrets: () => secrets,
    inbox: sqliteInbox(path),
  });
  receiver.onState("task", (event) => {
    heard(event.event, `${event.taskType} ${shortId(event.taskId)}`);
    board.setTask(event.taskId, event.status);
  });
  receiver.onState("subtask", (event) => {
    heard(event.event, `${event.taskType} ${shortId(event.taskId)} ${event.subTaskType}`);
    board.addStage(event.taskId, event.subTaskId);
  });
  receiver.on("documents.synced", (event) => {
    heard(event.event, `${event.documents.length} documents from ${event.providerKey}`);
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
    board: board.rows,
    heardOf: (count) => board.until((rows) => rows.length >= count && rows.map(({ taskId }) => taskId)),
    settled: (tasks) => board.until((rows) => tasks.every((task) => isTold(task, rows))),
    reconcile: (client) => receiver.reconcile(client, { sinceMs: 600_000 }),
    stats: () => receiver.stats(),
    async close() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await receiver.close();
    },
  };
}

/** Enough to tell the tasks of this flow apart. */
const shortId = (id: string) => `…${id.slice(-6)}`;

function isTold(task: Task, rows: readonly BoardRow[]): boolean {
  const row = rows.find(({ taskId }) => taskId === task.id);
  return row?.status === task.status && row.stages === task.subTasks.length;
}

function createBoard() {
  const statuses = new Map<string, string>();
  const stages = new Map<string, Set<string>>();
  const watchers = new Set<() => void>();

  const rows = (): readonly BoardRow[] =>
    [...statuses].map(([taskId, status]) => ({ taskId, status, stages: stages.get(taskId)?.size ?? 0 }));
  const changed = () => {
    for (const watcher of watchers) watcher();
  };

  return {
    rows,
    setTask(taskId: string, status: string) {
      statuses.set(taskId, status);
      changed();
    },
    addStage(taskId: string, stageId: string) {
      stages.set(taskId, (stages.get(taskId) ?? new Set()).add(stageId));
      changed();
    },
    /** Resolves with what `look` finds, as soon as that is something. */
    until<Found>(look: (rows: readonly BoardRow[]) => Found | false): Promise<Found> {
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          watchers.delete(watcher);
          reject(new Error(`the webhooks that were expected had not come after ${patienceMs} ms`));
        }, patienceMs);
        const watcher = () => {
          const found = look(rows());
          if (found === false) return;
          clearTimeout(late);
          watchers.delete(watcher);
          resolve(found);
        };
        watchers.add(watcher);
        watcher();
      });
    },
  };
}
