// The child process of `drain`: drain-process.ts STORE OPTIONS

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createReceiver, type Inbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import pg from "pg";
import {
  type CreateDrainer,
  concurrency,
  type Drainer,
  type DrainOptions,
  type DrainProgress,
  type DrainRequest,
} from "./drainer.ts";
import { answerParent } from "./parent.ts";
import { sampleBody, secret } from "./sample-delivery.ts";

interface Transaction {
  query(statement: string, values?: never[]): Promise<unknown>;
}

const eventsPerTask = 5;
const bodyBytes = 1_024;
const fillBatch = 256;

const kitDrainers: Readonly<Record<string, CreateDrainer>> = {
  async "kit-postgres"(store, options) {
    const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
    if (options.listens) pool.on("connect", (client) => void client.query("SET search_path = public"));
    const inbox = postgresInbox(pool, { prepare: options.prepare });
    const drainer = kitDrainer(inbox, options, "INSERT INTO effects VALUES ($1, $2)");
    return { ...drainer, stop: () => drainer.stop().then(() => pool.end()) };
  },
  "kit-sqlite": async (store, options) =>
    kitDrainer(sqliteInbox(store), options, "INSERT INTO effects VALUES (?, ?)"),
};

function kitDrainer(
  inbox: Inbox<Transaction>,
  { writes, readsFirst, failsEvery = Number.POSITIVE_INFINITY, inBatches }: DrainOptions,
  insert: string,
): Drainer {
  const receiver = createReceiver({
    secrets: [secret],
    inbox,
    concurrency,
    backlogMax: Number.MAX_SAFE_INTEGER,
    // What fails is repeated within the measurement.
    retry: { firstDelayMs: 10 },
    logger: silentLogger,
  });
  let added = 0;
  let begun = 0;
  return {
    add: (bodies) =>
      Promise.all(
        bodies.map((body) =>
          receiver.accept({
            id: `msg_${added++}`,
            timestamp: Math.floor(Date.now() / 1_000),
            body,
            secretIndex: 0,
          }),
        ),
      ),
    async start(onHandled) {
      if (inBatches) {
        receiver.onBatch("task.*", async (items, { transaction }) => {
          const ids = items.map(({ event }) => event.id);
          const times = items.map(({ event }) => event.occurredAt);
          const rows = "SELECT * FROM unnest($1::text[], $2::text[])";
          await transaction.query(`INSERT INTO effects ${rows}`, [ids, times] as never[]);
          for (const _ of items) onHandled();
        });
      } else {
        receiver.on("task.*", async ({ id, occurredAt }, { transaction, attempt }) => {
          if (readsFirst) {
            await transaction.query("SELECT at FROM effects WHERE id = $1 LIMIT 1", [id] as never[]);
          }
          if (writes) await transaction.query(insert, [id, occurredAt] as never[]);
          if (attempt === 1 && ++begun % failsEvery === 0) throw new Error("fails once");
          onHandled();
        });
      }
      await receiver.start();
    },
    stop: () => receiver.close(),
  };
}

/**
 * Not an import statement: the packages that this file imports are installed by `npm run bench` only, and the rest of the
 * project is type-checked without them.
 */
async function jobQueues(): Promise<Readonly<Record<string, CreateDrainer>>> {
  const file = pathToFileURL(join(import.meta.dirname, "peers/job-queues.ts")).href;
  return ((await import(file)) as { jobQueues: Readonly<Record<string, CreateDrainer>> }).jobQueues;
}

const [store = "", json = ""] = process.argv.slice(2);
const options: DrainOptions = JSON.parse(json);
const createDrainer = kitDrainers[options.drainer] ?? (await jobQueues())[options.drainer];
if (!createDrainer) throw new Error(`no drainer is named ${options.drainer}`);
const drainer = await createDrainer(store, options);
let handled = 0;

/** Five events of a task, which arrive some time after each other. */
async function add(from: number, count: number): Promise<void> {
  const tasks = Math.ceil(options.events / eventsPerTask);
  const bodies = Array.from({ length: count }, (_, index) => sampleBody(bodyBytes, from + index, tasks));
  await drainer.add(bodies);
}

async function fill(): Promise<void> {
  for (let from = 0; from < options.events; from += fillBatch) {
    await add(from, Math.min(fillBatch, options.events - from));
  }
}

async function start(): Promise<void> {
  await drainer.start(() => {
    handled++;
    if (options.isLive && handled < options.events) setImmediate(() => void add(handled, 1));
  });
  if (options.isLive) await add(0, 1);
}

answerParent("ready", async (request: DrainRequest): Promise<DrainProgress> => {
  if (request === "fill" && !options.isLive) await fill();
  if (request === "start") await start();
  if (request === "stop") await drainer.stop();
  const { user, system } = process.cpuUsage();
  const [, bytes] = /^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8")) ?? [];
  return { handled, cpuUs: user + system, bytesWritten: Number(bytes) };
});
