// A receiver under Express: receiver.ts KIND STORE. STORE is a path, the URL of a PostgreSQL database or of RabbitMQ.

import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { createReceiver, type Inbox, type Receiver } from "@workspace-tasks/receiver-kit";
import { verifyWebhook, webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import express, { type RequestHandler, type Response } from "express";
import Database from "libsql";
import pg from "pg";
import { Webhook } from "standardwebhooks";
import { secret } from "../sample-delivery.ts";
import { serve } from "./serve.ts";

const [kind = "", store = ""] = process.argv.slice(2);
let handledCount = 0;

type Insert = (id: string, body: Buffer) => unknown;
type Kit = Receiver<{ query(statement: string, values?: string[]): Promise<unknown> }>;

const kinds: Readonly<Record<string, () => readonly RequestHandler[] | Promise<readonly RequestHandler[]>>> =
  {
    bare: () => [bodyOnly],
    "hand-rolled": () => handRolled(() => undefined),
    "hand-rolled-sqlite": () => handRolled(sqliteInsert()),
    "hand-rolled-postgres": async () => handRolled(await postgresInsert()),
    "least-sqlite": () => leastDurable(sqliteInsertMany()),
    "least-postgres": async () => leastDurable(await postgresInsertMany()),
    "kit-verify": () => [
      verifyWebhook({ secrets: [secret] }),
      (_request, response) => void response.sendStatus(200),
    ],
    "kit-sqlite": () => [webhookMiddleware(kit(sqliteInbox(store)))],
    "kit-postgres": () => [webhookMiddleware(kit(postgres()))],
    "kit-sqlite-handled": () => handled(kit(sqliteInbox(store))),
    "kit-rabbitmq": () => rabbitmq(),
    "kit-postgres-handled": () => handled(kit(postgres())),
    "kit-sqlite-writing": () => sqliteWriting(),
    "kit-postgres-writing": () => postgresWriting(),
  };

/** What no receiver under Express can avoid. */
const bodyOnly: RequestHandler = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => response.status(200).end(String(Buffer.concat(chunks).length)));
};

/** As in the readme of standardwebhooks, with a larger body limit. */
function handRolled(insert: Insert): readonly RequestHandler[] {
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
      await insert(String(request.headers["webhook-id"]), request.body);
      response.sendStatus(200);
    },
  ];
}

/** One row per request, durable before the response. */
function sqliteInsert(): Insert {
  const insert = plainInsert(openPlain());
  return (id, body) => {
    insert.run([id, Date.now(), body]);
  };
}

function openPlain(): Database.Database {
  const database = new Database(store);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE inbox (id TEXT PRIMARY KEY, received_at INTEGER, body BLOB)");
  return database;
}

const plainInsert = (database: Database.Database) =>
  database.prepare("INSERT INTO inbox VALUES (?, ?, ?) ON CONFLICT DO NOTHING");

async function openPlainPool(): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: store, max: 8 });
  await pool.query("CREATE TABLE IF NOT EXISTS plain (id TEXT PRIMARY KEY, received_at BIGINT, body BYTEA)");
  return pool;
}

async function postgresInsert(): Promise<Insert> {
  const pool = await openPlainPool();
  return (id, body) =>
    pool.query({
      name: "insert",
      text: "INSERT INTO plain VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      values: [id, Date.now(), body],
    });
}

interface Delivery {
  readonly id: string;
  readonly body: Buffer;
}
type InsertMany = (deliveries: readonly Delivery[]) => unknown;

/**
 * The least that verifies, ignores duplicates and is durable: one hash, one row of id and body, commits that deliveries
 * share. Its rows can neither be claimed nor ordered.
 */
function leastDurable(insertMany: InsertMany): readonly RequestHandler[] {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  let waiting: (Delivery & { readonly response: Response })[] = [];
  const commit = async () => {
    const deliveries = waiting;
    waiting = [];
    await insertMany(deliveries);
    for (const { response } of deliveries) response.status(200).end("{}");
  };
  return [
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
        const {
          "webhook-id": id,
          "webhook-timestamp": time,
          "webhook-signature": signature,
        } = request.headers;
        const expected = createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest("base64");
        if (signature !== `v1,${expected}`) return void response.status(401).end();
        waiting.push({ id: String(id), body, response });
        if (waiting.length === 1) setImmediate(commit);
      });
    },
  ];
}

function sqliteInsertMany(): InsertMany {
  const database = openPlain();
  const insert = plainInsert(database);
  return (deliveries) => {
    database.exec("BEGIN IMMEDIATE");
    for (const { id, body } of deliveries) insert.run([id, Date.now(), body]);
    database.exec("COMMIT");
  };
}

async function postgresInsertMany(): Promise<InsertMany> {
  const pool = await openPlainPool();
  return (deliveries) =>
    pool.query({
      name: "insert",
      text: "INSERT INTO plain SELECT id, $2, body FROM unnest($1::text[], $3::bytea[]) AS given (id, body) ON CONFLICT DO NOTHING",
      values: [deliveries.map(({ id }) => id), Date.now(), deliveries.map(({ body }) => body)],
    });
}

function kit<Transaction>(inbox: Inbox<Transaction>): Receiver<Transaction> {
  const limits = { backlogMax: 10_000_000, storingBytesMax: 256 * 1_048_576 };
  return createReceiver({ secrets: [secret], inbox, concurrency: 64, ...limits });
}

function postgres() {
  return postgresInbox(new pg.Pool({ connectionString: store, max: 72 }));
}

/** STORE is the URL of a node, with the name of the queues as its fragment. */
async function rabbitmq(): Promise<readonly RequestHandler[]> {
  const { href, hash } = new URL(store);
  const urls = [href.replace(hash, "")];
  const intake = rabbitmqIntake({ urls, name: hash.slice(1), secrets: [secret] });
  await intake.start();
  return [webhookMiddleware(intake)];
}

/** Stored, ordered and passed to a handler. */
async function handled<Transaction>(receiver: Receiver<Transaction>): Promise<readonly RequestHandler[]> {
  receiver.on("*", () => {
    handledCount++;
  });
  await receiver.start();
  return [webhookMiddleware(receiver)];
}

/** The handler also writes a row through its transaction. */
async function writing(receiver: Kit, insert: string): Promise<readonly RequestHandler[]> {
  receiver.onState("task", async ({ taskId, status }, { transaction }) => {
    await transaction.query(insert, [taskId, status]);
    handledCount++;
  });
  await receiver.start();
  return [webhookMiddleware(receiver)];
}

const table = "CREATE TABLE IF NOT EXISTS board (task TEXT PRIMARY KEY, status TEXT)";

function sqliteWriting(): Promise<readonly RequestHandler[]> {
  new Database(store).exec(table);
  return writing(kit(sqliteInbox(store)), "INSERT INTO board VALUES (?, ?)");
}

async function postgresWriting(): Promise<readonly RequestHandler[]> {
  const pool = new pg.Pool({ connectionString: store, max: 13 });
  await pool.query(table);
  return writing(kit(postgresInbox(pool)), "INSERT INTO board VALUES ($1, $2)");
}

const createHandlers = kinds[kind];
if (!createHandlers) throw new Error(`there is no receiver of kind ${kind}`);
const app = express();
app.disable("x-powered-by");
app.post("/webhooks", ...(await createHandlers()));
await serve(createServer(app), () => handledCount);
