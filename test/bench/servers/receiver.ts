// A receiver under Express: receiver.ts KIND STORE. STORE is a path, the URL of a PostgreSQL database or of RabbitMQ.

import { createServer } from "node:http";
import { createReceiver, type Inbox, type Receiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import express, { type RequestHandler } from "express";
import Database from "libsql";
import pg from "pg";
import { serve } from "../parent.ts";
import { secret } from "../sample-delivery.ts";

const [kind = "", store = ""] = process.argv.slice(2);
let handledCount = 0;

const kinds: Readonly<Record<string, () => RequestHandler | Promise<RequestHandler>>> = {
  "kit-postgres": () =>
    webhookMiddleware(kit(postgresInbox(new pg.Pool({ connectionString: store, max: 72 })))),
  "kit-rabbitmq": () => rabbitmq(),
  "kit-sqlite-writing": () => sqliteWriting(),
  "kit-postgres-writing": () => postgresWriting(),
};

function kit<Transaction>(inbox: Inbox<Transaction>): Receiver<Transaction> {
  const limits = { backlogMax: 10_000_000, storingBytesMax: 256 * 1_048_576 };
  return createReceiver({ secrets: [secret], inbox, concurrency: 64, ...limits });
}

/** STORE is the URL of a node, with the name of the queues as its fragment. */
async function rabbitmq(): Promise<RequestHandler> {
  const { href, hash } = new URL(store);
  const urls = [href.replace(hash, "")];
  const intake = rabbitmqIntake({ urls, name: hash.slice(1), secrets: [secret] });
  await intake.start();
  return webhookMiddleware(intake);
}

const table = "CREATE TABLE IF NOT EXISTS board (task TEXT PRIMARY KEY, status TEXT)";

function sqliteWriting(): Promise<RequestHandler> {
  new Database(store).exec(table);
  return writing(kit(sqliteInbox(store)), "INSERT INTO board VALUES (?, ?)");
}

async function postgresWriting(): Promise<RequestHandler> {
  const pool = new pg.Pool({ connectionString: store, max: 13 });
  await pool.query(table);
  return writing(kit(postgresInbox(pool)), "INSERT INTO board VALUES ($1, $2)");
}

/** The handler writes a row through its transaction. */
async function writing(
  receiver: Receiver<{ query(statement: string, values?: string[]): Promise<unknown> }>,
  insert: string,
): Promise<RequestHandler> {
  receiver.onState("task", async ({ taskId, status }, { transaction }) => {
    await transaction.query(insert, [taskId, status]);
    handledCount++;
  });
  await receiver.start();
  return webhookMiddleware(receiver);
}

const createHandler = kinds[kind];
if (!createHandler) throw new Error(`there is no receiver of kind ${kind}`);
const app = express();
app.disable("x-powered-by");
app.post("/webhooks", await createHandler());
await serve(createServer(app), () => handledCount);
