import { Logger, makeWorkerUtils, type Runner, run as runGraphileWorker } from "graphile-worker";
import Database from "libsql";
import pg from "pg";
import { PgBoss } from "pg-boss";
import { better, defineQueue, defineWorker } from "plainjob";
import {
  type CreateDrainer,
  concurrency,
  type Drainer,
  type DrainerOptions,
  effectsTable,
} from "../drain/drainer.ts";
import { sampleBody } from "../sample-delivery.ts";

const bodyBytes = 1_024;
const insertEffect = "INSERT INTO effects VALUES ($1, $2)";
const payloads = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => sampleBody(bodyBytes, from + index).toString());

/** Job queues that one would put behind a hand-written receiver. Each handles at least once and in no order. */
export const jobQueues: Readonly<Record<string, CreateDrainer>> = {
  "graphile-worker": (options) => graphileWorker(options, {}),
  "graphile-worker, local queue": (options) =>
    graphileWorker(options, { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }),
  /** Each job is added when the one before was handled. */
  "graphile-worker, live": (options) => graphileWorker(options, {}, true),
  "pg-boss": (options) => pgBoss(options, false),
  "pg-boss, transactional": (options) => pgBoss(options, true),
  plainjob: (options) => plainjob(options, "FULL"),
  "plainjob, synchronous=NORMAL": (options) => plainjob(options, "NORMAL"),
};

type GraphileSettings = {
  localQueue?: { size: number };
  completeJobBatchDelay?: number;
  failJobBatchDelay?: number;
};

const silent = new Logger(() => () => {});

async function graphileWorker(
  { store, writes }: DrainerOptions,
  settings: GraphileSettings,
  isLive = false,
): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
  if (writes) await pool.query(effectsTable);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: silent });
  await utils.migrate();
  let runner: Runner | undefined;
  let stored = 0;
  let handled = 0;
  const add = (from: number, count: number) =>
    utils.addJobs(payloads(from, count).map((body) => ({ identifier: "event", payload: JSON.parse(body) })));
  return {
    async fill(count) {
      stored = count;
      if (isLive) return;
      for (let from = 0; from < count; from += 1_000) {
        await add(from, Math.min(1_000, count - from));
      }
    },
    async start(onHandled) {
      runner = await runGraphileWorker({
        pgPool: pool,
        logger: silent,
        noHandleSignals: true,
        taskList: {
          async event(payload) {
            const { id, occurredAt } = payload as { id: string; occurredAt: string };
            if (writes) await pool.query(insertEffect, [id, occurredAt]);
            onHandled();
            handled += 1;
            if (isLive && handled < stored) setImmediate(() => void add(handled, 1));
          },
        },
        preset: { worker: { ...settings, concurrentJobs: concurrency } },
      });
      if (isLive) await add(0, 1);
    },
    async stop() {
      await runner?.stop();
      await utils.release();
      await pool.end();
    },
  };
}

/** Workers that fetch batches one after another while these are full; a transaction is that of a batch. */
async function pgBoss({ store, writes }: DrainerOptions, isTransactional: boolean): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: concurrency });
  if (writes) await pool.query(effectsTable);
  const boss = new PgBoss({
    connectionString: store,
    max: concurrency + 6,
    supervise: false,
    schedule: false,
    useListenNotify: true,
  });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("events", { notify: true });
  const handleAll = async (jobs: readonly { data: unknown }[], write: Write, onHandled: () => void) => {
    await Promise.all(
      jobs.map(async ({ data }) => {
        const { id, occurredAt } = data as { id: string; occurredAt: string };
        if (writes) await write(insertEffect, [id, occurredAt]);
        onHandled();
      }),
    );
  };
  return {
    async fill(count) {
      for (let from = 0; from < count; from += 1_000) {
        const jobs = payloads(from, Math.min(1_000, count - from));
        await boss.insert(
          "events",
          jobs.map((body) => ({ data: JSON.parse(body) })),
        );
      }
    },
    async start(onHandled) {
      const options = { batchSize: 50, burstWhenBatchFull: true, localConcurrency: concurrency };
      if (isTransactional) {
        await boss.work("events", { ...options, transactional: true }, (jobs, tx) =>
          handleAll(jobs, (text, values) => tx.executeSql(text, values), onHandled),
        );
      } else {
        await boss.work("events", options, (jobs) =>
          handleAll(jobs, (text, values) => pool.query(text, values), onHandled),
        );
      }
    },
    async stop() {
      await boss.stop({ graceful: true, timeout: 5_000 });
      await pool.end();
    },
  };
}

type Write = (text: string, values: string[]) => Promise<unknown>;

function plainjob({ store, writes }: DrainerOptions, synchronous: "FULL" | "NORMAL"): Drainer {
  // libsql has the interface of better-sqlite3, which is compiled at its installation.
  const database = new Database(store);
  const queue = defineQueue({ connection: better(database as never), logger: quiet });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
  database.exec(effectsTable);
  const insert = database.prepare("INSERT INTO effects VALUES (?, ?)");
  let worker: ReturnType<typeof defineWorker> | undefined;
  let working: Promise<void> | undefined;
  return {
    async fill(count) {
      for (let from = 0; from < count; from += 1_000) {
        queue.addMany(
          "event",
          payloads(from, Math.min(1_000, count - from)).map((body) => JSON.parse(body)),
        );
      }
    },
    async start(onHandled) {
      worker = defineWorker(
        "event",
        async ({ data }) => {
          const { id, occurredAt } = JSON.parse(data);
          if (writes) insert.run([id, occurredAt]);
          onHandled();
        },
        { queue, logger: quiet },
      );
      working = worker.start();
    },
    async stop() {
      await worker?.stop();
      await working;
      queue.close();
    },
  };
}

const quiet = { error() {}, warn() {}, info() {}, debug() {} };
