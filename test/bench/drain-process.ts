// The child process of `drain`: drain-process.ts NAME STORE writes|reads

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createReceiver, type Inbox, type Receiver, silentLogger } from "@workspace-tasks/receiver-kit";
import { type PostgresTransaction, postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import pg from "pg";
import {
  bodyBytes,
  type CreateDrainer,
  concurrency,
  type Drainer,
  type DrainerOptions,
  type DrainProgress,
  type DrainRequest,
  effectsTable,
} from "./drainer.ts";
import { type Sample, startMeter } from "./meter.ts";
import { answerParent } from "./parent.ts";
import { sampleBody, secret } from "./sample-delivery.ts";

type HandleWith<Transaction> = (receiver: Receiver<Transaction>, onHandled: () => void) => void;

const eventsPerTask = 5;
const fillBatch = 256;

const kitDrainers: Readonly<Record<string, CreateDrainer>> = {
  "kit-postgres": (options) =>
    postgresDrainer(options, (receiver, onHandled) => {
      receiver.on("task.*", async ({ id, occurredAt }, { transaction }) => {
        if (options.writes) {
          await transaction.query("INSERT INTO effects VALUES ($1, $2)", [id, occurredAt]);
        }
        onHandled();
      });
    }),
  /** Handlers get up to 100 events. */
  "kit-postgres, batches": (options) =>
    postgresDrainer(options, (receiver, onHandled) => {
      receiver.onBatch("task.*", async (items, { transaction }) => {
        const ids = items.map(({ event }) => event.id);
        const times = items.map(({ event }) => event.occurredAt);
        const rows = "SELECT * FROM unnest($1::text[], $2::text[])";
        await transaction.query(`INSERT INTO effects ${rows}`, [ids, times]);
        for (const _ of items) onHandled();
      });
    }),
  "kit-sqlite": async ({ store }) =>
    kitDrainer(sqliteInbox(store), (receiver, onHandled) => receiver.on("task.*", onHandled)),
};

async function postgresDrainer(
  { store, writes }: DrainerOptions,
  handleWith: HandleWith<PostgresTransaction>,
): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
  if (writes) await pool.query(effectsTable);
  const drainer = kitDrainer(postgresInbox(pool), handleWith);
  return { ...drainer, stop: () => drainer.stop().then(() => pool.end()) };
}

function kitDrainer<Transaction>(inbox: Inbox<Transaction>, handleWith: HandleWith<Transaction>): Drainer {
  const receiver = createReceiver({
    secrets: [secret],
    inbox,
    concurrency,
    backlogMax: Number.MAX_SAFE_INTEGER,
    logger: silentLogger,
  });
  const accept = (index: number, count: number) =>
    receiver.accept({
      id: `msg_${count}_${index}`,
      timestamp: Math.floor(Date.now() / 1_000),
      body: sampleBody(bodyBytes, index, Math.ceil(count / eventsPerTask)),
      secretIndex: 0,
    });
  return {
    /** Five events of a task, which arrive some time after each other. */
    async fill(count) {
      for (let from = 0; from < count; from += fillBatch) {
        const indexes = Array.from({ length: Math.min(fillBatch, count - from) }, (_, index) => from + index);
        await Promise.all(indexes.map((index) => accept(index, count)));
      }
    },
    async start(onHandled) {
      handleWith(receiver, onHandled);
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

const [name = "", store = "", effect] = process.argv.slice(2);
const createDrainer = kitDrainers[name] ?? (await jobQueues())[name];
if (!createDrainer) throw new Error(`no drainer is named ${name}`);
const drainer = await createDrainer({ store, writes: effect === "writes" });
let handled = 0;
let stopMeter = (): Sample => ({ cpuUs: 0, wallUs: 0 });

answerParent("ready", async (request: DrainRequest): Promise<DrainProgress> => {
  if ("fill" in request) await drainer.fill(request.fill);
  if ("stop" in request) await drainer.stop();
  if ("start" in request) {
    stopMeter = startMeter();
    await drainer.start(() => {
      handled++;
    });
  }
  return { handled, cpuUs: stopMeter().cpuUs };
});
