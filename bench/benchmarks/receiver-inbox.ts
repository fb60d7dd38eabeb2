import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "libsql";
import { createReceiver } from "workspace-tasks/receiver-kit";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { withFolder } from "../../test/support/with-folder.ts";
import { type Benchmark, cellOf, type MeasureOptions, type Result, tableOf } from "../benchmark.ts";
import { number, spread, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { startMeter } from "../meter.ts";
import { sampleBody, secret } from "../sample-delivery.ts";
import { medianIn, spreadIn } from "../statistics.ts";

export const benchmark: Benchmark = {
  title: "Growth: rows in the inbox",
  question: "What does storing and handling a delivery cost beside 1,000,000 finished rows?",
  answer: (result) =>
    `${cellOf(result, "1,000,000", "µs to store and handle")} µs; beside 10,000 rows ${cellOf(result, "10,000", "µs to store and handle")} µs`,
  about:
    "A receiver on SQLite stores and handles deliveries of 1 KB (without HTTP and signature), beside the given number of finished rows. µs of CPU " +
    "time per delivery.",
  notes: ["Due and running rows are found through partial indexes without finished rows."],
  measure,
};

function measure({ quick }: MeasureOptions): Promise<Result> {
  return withFolder(async (folder) => {
    const sizes = quick ? [1_000, 10_000] : [10_000, 100_000, 1_000_000];
    const pathOf = (rows: number) => join(folder, `${rows}.db`);
    for (const rows of sizes) await fill(pathOf(rows), rows);
    const rounds = await inTurns(sizes, { rounds: quick ? 1 : 7, warmUpRounds: 1 }, (rows, round) =>
      receive(pathOf(rows), round),
    );
    const median = (field: "stored" | "handled" | "duplicate") =>
      sizes.map((rows) => [rows, medianIn(rounds, rows, field)] as const);
    return {
      goals: [],
      tables: [
        tableOf(
          ["rows", "µs to store", "µs to store and handle", "µs for a duplicate", "file, MB"],
          sizes,
          (rows) => [
            whole(rows),
            spread(spreadIn(rounds, rows, "stored")),
            spread(spreadIn(rounds, rows, "handled")),
            spread(spreadIn(rounds, rows, "duplicate")),
            number(statSync(pathOf(rows)).size / 1e6),
          ],
        ),
      ],
      plots: [
        {
          name: "inbox",
          title: "Cost of one delivery beside existing rows",
          x: "rows in the inbox",
          y: "µs of CPU time",
          series: [
            { name: "store and handle", points: median("handled") },
            { name: "store", points: median("stored") },
            { name: "duplicate", points: median("duplicate") },
          ],
        },
      ],
    };
  });
}

/** CPU time per delivery. */
async function receive(path: string, round: number) {
  const deliveries = Array.from({ length: 1_024 }, (_, index) => ({
    id: `msg_${round}_${index}`,
    timestamp: Math.floor(Date.now() / 1_000),
    body: sampleBody(1_024, index + round * 1_024),
    secretIndex: 0,
  }));
  const cpuUsOf = async (work: () => Promise<unknown>) => {
    const stop = startMeter();
    await work();
    return stop(deliveries.length).cpuUs;
  };
  const accepting = createCountingReceiver(path).receiver;
  const acceptAll = async () => {
    for (let from = 0; from < deliveries.length; from += 64) {
      await Promise.all(deliveries.slice(from, from + 64).map((delivery) => accepting.accept(delivery)));
    }
  };
  const stored = await cpuUsOf(acceptAll);
  const duplicate = await cpuUsOf(acceptAll);
  await accepting.close();
  const handling = createCountingReceiver(path);
  const handled = await cpuUsOf(async () => {
    await handling.receiver.start();
    while (handling.count() < deliveries.length) await pause(1);
    await handling.receiver.close();
  });
  return { stored, handled: stored + handled, duplicate };
}

function createCountingReceiver(path: string) {
  let count = 0;
  const receiver = createReceiver({ secrets: [secret], inbox: sqliteInbox(path), concurrency: 64 });
  receiver.on("*", () => {
    count++;
  });
  return { receiver, count: () => count };
}

/** Rows as the worker leaves them, with ids in random order, as those of a service. */
async function fill(path: string, rows: number): Promise<void> {
  const inbox = sqliteInbox(path);
  await inbox.open();
  await inbox.close();
  const database = new Database(path);
  database
    .prepare(
      `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)
       INSERT INTO workspace_tasks_deliveries
         (source, webhook_id, channel, event, order_key, position, status, signed_at, received_at)
       SELECT 'default', 'msg_' || lower(hex(randomblob(16))), 'webhook', 'task.completed',
         '["' || lower(hex(randomblob(8))) || '"]', '100001768000000000000.1.' || n, 'COMPLETED', ? / 1000, ?
       FROM counted`,
    )
    .run([rows, Date.now(), Date.now()]);
  database.exec(`
    INSERT INTO workspace_tasks_bodies SELECT seq, zeroblob(100) FROM workspace_tasks_deliveries;
    INSERT INTO workspace_tasks_ordering_keys (source, order_key, position, status, moved_at, waiting)
      SELECT source, order_key, position, status, received_at, 0 FROM workspace_tasks_deliveries`);
  database.close();
}
