import { Logger, makeWorkerUtils, type Runner, run as runGraphileWorker } from "graphile-worker";
import Database from "libsql";
import pg from "pg";
import { PgBoss } from "pg-boss";
import { better, defineQueue, defineWorker } from "plainjob";
import { type CreateDrainer, concurrency, type Drainer, type DrainOptions } from "../drainer.ts";

/** Job queues that one would put behind a hand-written receiver. Each handles at least once and in no order. */
export const jobQueues: Readonly<Record<string, CreateDrainer>> = {
  "graphile-worker": graphileWorker,
  "pg-boss": pgBoss,
  plainjob,
};

interface Payload {
  readonly id: string;
  readonly occurredAt: string;
}

const insertEffect = "INSERT INTO effects VALUES ($1, $2)";

const payloadOf = (body: Buffer): Payload => JSON.parse(body.toString());

async function graphileWorker(store: string, { writes, localQueue }: DrainOptions): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  let runner: Runner | undefined;
  return {
    add: (bodies) => utils.addJobs(bodies.map((body) => ({ identifier: "event", payload: payloadOf(body) }))),
    async start(onHandled) {
      runner = await runGraphileWorker({
        pgPool: pool,
        logger,
        noHandleSignals: true,
        taskList: {
          async event(payload) {
            const { id, occurredAt } = payload as Payload;
            if (writes) await pool.query(insertEffect, [id, occurredAt]);
            onHandled();
          },
        },
        preset: { worker: { ...(localQueue && batched), concurrentJobs: concurrency } },
      });
    },
    async stop() {
      await runner?.stop();
      await utils.release();
      await pool.end();
    },
  };
}

/** Workers that fetch batches one after another while these are full; a transaction is that of a batch. */
async function pgBoss(store: string, { writes, transactional }: DrainOptions): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: concurrency });
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
  return {
    add: (bodies) =>
      boss.insert(
        "events",
        bodies.map((body) => ({ data: payloadOf(body) })),
      ),
    async start(onHandled) {
      const options = { batchSize: 50, burstWhenBatchFull: true, localConcurrency: concurrency };
      const handle = async (jobs: readonly { data: unknown }[], write: Write) => {
        await Promise.all(
          jobs.map(async ({ data }) => {
            const { id, occurredAt } = data as Payload;
            if (writes) await write(insertEffect, [id, occurredAt]);
            onHandled();
          }),
        );
      };
      if (transactional) {
        await boss.work("events", { ...options, transactional: true }, (jobs, transaction) =>
          handle(jobs, (text, values) => transaction.executeSql(text, values)),
        );
      } else {
        await boss.work("events", options, (jobs) =>
          handle(jobs, (text, values) => pool.query(text, values)),
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

async function plainjob(store: string, { writes, synchronous }: DrainOptions): Promise<Drainer> {
  // libsql has the interface of better-sqlite3, which is compiled at its installation.
  const database = new Database(store);
  const logger = { error() {}, warn() {}, info() {}, debug() {} };
  const queue = defineQueue({ connection: better(database as never), logger });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
  let stop = async (): Promise<void> => {};
  return {
    async add(bodies) {
      queue.addMany("event", bodies.map(payloadOf));
    },
    async start(onHandled) {
      const insert = database.prepare("INSERT INTO effects VALUES (?, ?)");
      const worker = defineWorker(
        "event",
        async ({ data }) => {
          const { id, occurredAt } = JSON.parse(data);
          if (writes) insert.run([id, occurredAt]);
          onHandled();
        },
        { queue, logger },
      );
      const working = worker.start();
      stop = async () => {
        await worker.stop();
        await working;
      };
    },
    async stop() {
      await stop();
      queue.close();
    },
  };
}
