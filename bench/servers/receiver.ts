// A receiver of one kind at /webhooks: receiver.ts KIND STORE [SYNC_MS]
//
// With SYNC_MS the disk under SQLite takes that much longer to make a commit durable. As with a real one, the thread
// stands still meanwhile and uses no processor.

import { createServer } from "node:http";
import express, { type RequestHandler } from "express";
import pg from "pg";
import { Webhook } from "standardwebhooks";
import { createReceiver, type Inbox } from "workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "workspace-tasks/receiver-kit/express";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { secret } from "../sample-delivery.ts";
import { served } from "./served.ts";

const [kind = "", store = "", syncMs = "0"] = process.argv.slice(2);

const sleeper = new Int32Array(new SharedArrayBuffer(4));
function waitForDisk(): void {
  if (Number(syncMs) > 0) Atomics.wait(sleeper, 0, 0, Number(syncMs));
}

/** What no receiver under Express can do without. */
const bodyOnly: RequestHandler = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => response.status(200).end(String(Buffer.concat(chunks).length)));
};

/** As the readme of standardwebhooks shows it, with room for the bodies that are sent. */
function handRolled(store: (id: string, body: Buffer) => unknown): readonly RequestHandler[] {
  const webhook = new Webhook(secret);
  return [
    express.raw({ type: "application/json", limit: "2mb" }),
    async (request, response) => {
      try {
        webhook.verify(request.body, request.headers as Record<string, string>);
      } catch {
        response.sendStatus(400);
        return;
      }
      await store(String(request.headers["webhook-id"]), request.body);
      response.sendStatus(200);
    },
  ];
}

/** One row per request, made durable before the answer. */
async function sqliteInsert(): Promise<(id: string, body: Buffer) => unknown> {
  const { default: Database } = await import("libsql");
  const database = new Database(store);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE inbox (id TEXT PRIMARY KEY, received_at INTEGER, body BLOB)");
  const insert = database.prepare("INSERT INTO inbox VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  return (id, body) => {
    insert.run([id, Date.now(), body]);
    waitForDisk();
  };
}

async function postgresInsert(): Promise<(id: string, body: Buffer) => unknown> {
  const pool = new pg.Pool({ connectionString: store, max: 8 });
  await pool.query("CREATE TABLE IF NOT EXISTS plain (id TEXT PRIMARY KEY, received_at BIGINT, body BYTEA)");
  return (id, body) =>
    pool.query({
      name: "insert",
      text: "INSERT INTO plain VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      values: [id, Date.now(), body],
    });
}

/** The kit commits by itself, so the wait is put where every commit passes. */
async function slowCommits(): Promise<void> {
  const { default: Database } = await import("libsql");
  const run = Database.prototype.exec;
  Database.prototype.exec = function (statement: string) {
    const result = run.call(this, statement);
    if (statement === "COMMIT") waitForDisk();
    return result;
  };
}

function kit<Transaction>(inbox: Inbox<Transaction>) {
  return createReceiver({ secrets: [secret], inbox, backlogMax: 10_000_000, concurrency: 64 });
}

async function handlersOf(): Promise<readonly RequestHandler[]> {
  const postgres = () => postgresInbox(new pg.Pool({ connectionString: store, max: 72 }));
  switch (kind) {
    case "bare":
      return [bodyOnly];
    case "hand-rolled":
      return handRolled(() => undefined);
    case "hand-rolled-sqlite":
      return handRolled(await sqliteInsert());
    case "hand-rolled-postgres":
      return handRolled(await postgresInsert());
    case "kit-verify":
      return [verifyWebhook({ secrets: [secret] }), (_request, response) => void response.sendStatus(200)];
    case "kit-sqlite":
      return [webhookMiddleware(kit(sqliteInbox(store)))];
    case "kit-postgres":
      return [webhookMiddleware(kit(postgres()))];
    case "kit-sqlite-handled":
      return handled(kit(sqliteInbox(store)));
    case "kit-postgres-handled":
      return handled(kit(postgres()));
    default:
      throw new Error(`no receiver of kind ${kind}`);
  }
}

let handledCount = 0;

/** Stored, ordered and handed to a state handler as well. */
async function handled<Transaction>(
  receiver: ReturnType<typeof kit<Transaction>>,
): Promise<readonly RequestHandler[]> {
  receiver.on("*", () => {
    handledCount++;
  });
  await receiver.start();
  return [webhookMiddleware(receiver)];
}

if (Number(syncMs) > 0) await slowCommits();
const app = express();
app.disable("x-powered-by");
app.post("/webhooks", ...(await handlersOf()));
await served(createServer(app), { count: () => Promise.resolve(handledCount) });
