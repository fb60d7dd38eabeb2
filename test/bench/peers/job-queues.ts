import { Logger, makeWorkerUtils, type Runner, run as runGraphileWorker } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";
import {
  bodyBytes,
  type CreateDrainer,
  concurrency,
  type Drainer,
  type DrainerOptions,
  effectsTable,
} from "../drainer.ts";
import { sampleBody } from "../sample-delivery.ts";

/** Job queues that one would put behind a hand-written receiver. Each handles at least once and in no order. */
export const jobQueues: Readonly<Record<string, CreateDrainer>> = {
  "graphile-worker, local queue": graphileWorker,
  "pg-boss, transactional": pgBoss,
};

interface Payload {
  readonly id: string;
  readonly occurredAt: string;
}

const insertEffect = "INSERT INTO effects VALUES ($1, $2)";
const addBatch = 1_000;

/** Adds the payloads of so many events, in batches. */
async function fillWith(count: number, add: (payloads: Payload[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += addBatch) {
    const length = Math.min(addBatch, count - from);
    await add(
      Array.from({ length }, (_, index) => JSON.parse(sampleBody(bodyBytes, from + index).toString())),
    );
  }
}

async function graphileWorker({ store, writes }: DrainerOptions): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
  if (writes) await pool.query(effectsTable);
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  let runner: Runner | undefined;
  return {
    fill: (count) =>
      fillWith(count, (payloads) =>
        utils.addJobs(payloads.map((payload) => ({ identifier: "event", payload }))),
      ),
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
        preset: {
          worker: {
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            concurrentJobs: concurrency,
          },
        },
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
async function pgBoss({ store, writes }: DrainerOptions): Promise<Drainer> {
  const pool = new pg.Pool({ connectionString: store, max: 1 });
  if (writes) await pool.query(effectsTable);
  await pool.end();
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
    fill: (count) =>
      fillWith(count, (payloads) =>
        boss.insert(
          "events",
          payloads.map((data) => ({ data })),
        ),
      ),
    async start(onHandled) {
      const options = { batchSize: 50, burstWhenBatchFull: true, localConcurrency: concurrency };
      await boss.work("events", { ...options, transactional: true }, async (jobs, transaction) => {
        await Promise.all(
          jobs.map(async ({ data }) => {
            const { id, occurredAt } = data as Payload;
            if (writes) await transaction.executeSql(insertEffect, [id, occurredAt]);
            onHandled();
          }),
        );
      });
    },
    stop: () => boss.stop({ graceful: true, timeout: 5_000 }),
  };
}
