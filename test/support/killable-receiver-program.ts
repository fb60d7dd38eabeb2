// A receiver as a user would write it: Express, a durable inbox, handlers that write through their transaction. Every
// handled event inserts one row into `effects`, whose times show which events overlapped.

import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import {
  type BatchHandler,
  createReceiver,
  type HandlerContext,
  type Inbox,
} from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox, primaryPool } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import express from "express";
import pg from "pg";
import { storeOf } from "../../receiver-kit/inbox/inbox.ts";
import { createRandom } from "../integration/simulation/random.ts";
import type { KillableReceiverOptions } from "./killable-receiver.ts";
import { listen } from "./listen.ts";
import { machineMicros } from "./machine-time.ts";
import { secretA } from "./signed-delivery.ts";
import { overrideInbox } from "./wrap-inbox.ts";

type Transaction = { query(statement: string, values?: (string | number)[]): Promise<unknown> };
type Store = { readonly inbox: Inbox<Transaction>; close(): Promise<void> };

const options = JSON.parse(process.argv[2] ?? "{}") as KillableReceiverOptions;
const concurrency = 8;

function openStore(): Store {
  if (!options.store.startsWith("postgres://")) {
    const inbox = sqliteInbox({ path: options.store });
    return { inbox, close: async () => {} };
  }
  const pools = options.store.split(" ").map(
    (connectionString) =>
      new pg.Pool({
        connectionString,
        max: concurrency + 6,
        connectionTimeoutMillis: options.connectionTimeoutMs ?? 2_000,
      }),
  );
  const [pool, ...others] = pools;
  const inbox = postgresInbox(others.length === 0 && pool ? pool : primaryPool(pools));
  return {
    inbox,
    async close() {
      await Promise.all(pools.map((each) => each.end()));
    },
  };
}

/** SQLite takes `?1` where PostgreSQL takes `$1`. */
const sql = (statement: string) =>
  options.store.startsWith("postgres://") ? statement : statement.replaceAll("$", "?");

// Exit when the test process ends without stopping this one.
process.stdin.once("end", () => process.exit(1));
process.stdin.once("close", () => process.exit(1));

console.log("loaded");
await once(process.stdin, "data");
process.stdin.resume();

/** Acknowledges first, and stores later. */
const losingDeliveries = (inbox: Inbox<Transaction>): Inbox<Transaction> =>
  overrideInbox(storeOf(inbox), {
    async insert(row) {
      void pause(1_000).then(() => storeOf(inbox).insert(row));
      return { outcome: "new" };
    },
  });

const random = createRandom(options.seed ?? 0, "handlers");
const mayFail = () => {
  if (random.happens((options.failingShare ?? 0) / 2)) throw new Error("failed for now");
};

const store = openStore();
const receiver = createReceiver<Transaction>({
  secrets: [secretA],
  inbox: options.losesDeliveries ? losingDeliveries(store.inbox) : store.inbox,
  leaseMs: options.leaseMs ?? 1_000,
  concurrency,
  pollMs: 100,
  retry: { firstDelayMs: 50, attemptsMax: 1_000 },
  logger: { info() {}, warn() {}, error: (fields, message) => console.error(message, fields) },
});
type TaskEvent = { taskId: string; status: string; occurredAt: string };

async function setState({ taskId, status, occurredAt }: TaskEvent, transaction: Transaction): Promise<void> {
  await transaction.query(
    sql(`INSERT INTO task_states VALUES ($1, $2, $3)
      ON CONFLICT (task) DO UPDATE SET status = excluded.status, occurred_at = excluded.occurred_at`),
    [taskId, status, occurredAt],
  );
}

async function addEffect(
  { taskId, occurredAt }: TaskEvent,
  { id, stale }: Pick<HandlerContext<Transaction>, "id" | "stale">,
  transaction: Transaction,
): Promise<void> {
  const began = machineMicros();
  if (options.handlerMs) await pause(options.handlerMs);
  mayFail();
  await transaction.query(sql("INSERT INTO effects VALUES ($1, $2, $3, $4, $5, $6, $7)"), [
    ...[id, taskId, occurredAt, String(stale), String(process.pid), began, machineMicros()],
  ]);
  mayFail();
}

if (options.batches) {
  const handle: BatchHandler<TaskEvent, Transaction> = async (items, { transaction }) => {
    for (const { event, ...context } of items) {
      await addEffect(event, context, transaction);
      if (!context.stale && !context.alreadyApplied) await setState(event, transaction);
    }
  };
  receiver.onBatch("task.*", handle, { eventsMax: 10 });
} else {
  receiver.on("task.*", (event, context) => addEffect(event, context, context.transaction));
  receiver.onState("task", (event, { transaction }) => setState(event, transaction));
}

const app = express();
app.post("/webhooks", webhookMiddleware(receiver));
const server = await listen(createServer(app));
await receiver.start();
console.log(`port ${server.port}`);

process.once("SIGTERM", async () => {
  await server[Symbol.asyncDispose]();
  await receiver.close();
  await store.close();
  process.exit(0);
});
