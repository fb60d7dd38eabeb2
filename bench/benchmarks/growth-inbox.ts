import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { createReceiver } from "workspace-tasks/receiver-kit";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import type { Measure } from "../finding.ts";
import { sampleBody, secret } from "../sample-delivery.ts";
import { spreadOf } from "../samples.ts";
import { number, spread, whole } from "../words.ts";

export const measure: Measure = async ({ quick }) => {
  const sizes = quick ? [1_000, 10_000] : [10_000, 100_000, 1_000_000];
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-inbox-"));
  const inboxes: Inbox[] = [];
  const megabytes = new Map<Inbox, number>();
  try {
    for (const rows of sizes) inboxes.push(await fill(join(folder, `${rows}.db`), rows));
    // The first round warms up; sizes take turns, so that none profits from coming later.
    for (let round = 0; round <= (quick ? 1 : 7); round++) {
      for (const inbox of inboxes) await take(inbox, round);
    }
    for (const inbox of inboxes) megabytes.set(inbox, statSync(inbox.path).size / 1e6);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const results = inboxes.map((inbox) => ({
    rows: inbox.rows,
    megabytes: megabytes.get(inbox) ?? Number.NaN,
    stored: inbox.stored.slice(1),
    handled: inbox.handled.slice(1),
    duplicate: inbox.duplicate.slice(1),
  }));
  return {
    title: "Growth: rows in the inbox",
    about:
      "A receiver on SQLite takes deliveries of 1 KB (without HTTP and signature) and hands them to a handler, beside so many rows " +
      "of the last days that are done. µs of processor time per delivery, from `accept` to the committed end of its handler.",
    goals: [],
    tables: [
      {
        columns: ["rows", "µs to store", "µs to store and handle", "µs for a duplicate", "file, MB"],
        rows: results.map(({ rows, stored, handled, duplicate, megabytes }) => [
          whole(rows),
          spread(spreadOf(stored)),
          spread(spreadOf(handled)),
          spread(spreadOf(duplicate)),
          number(megabytes),
        ]),
      },
    ],
    plots: [
      {
        name: "inbox",
        title: "Cost of one delivery beside the rows that are there",
        x: "rows in the inbox",
        y: "µs of processor time",
        series: [
          {
            name: "store and handle",
            points: results.map(({ rows, handled }) => [rows, spreadOf(handled).median]),
          },
          { name: "store", points: results.map(({ rows, stored }) => [rows, spreadOf(stored).median]) },
          {
            name: "duplicate",
            points: results.map(({ rows, duplicate }) => [rows, spreadOf(duplicate).median]),
          },
        ],
      },
    ],
    notes: [
      "From ten thousand rows to a million, storing costs the same and handling about a fifth more. Due and running rows are found through partial indexes that hold no finished row; a new id is looked up in the index that keeps (source, id) unique.",
    ],
  };
};

type Inbox = {
  readonly path: string;
  readonly rows: number;
  readonly stored: number[];
  readonly handled: number[];
  readonly duplicate: number[];
};

async function fill(path: string, rows: number): Promise<Inbox> {
  await createSchema(path);
  insertFinished(path, rows);
  return { path, rows, stored: [], handled: [], duplicate: [] };
}

async function take({ path, stored, handled, duplicate }: Inbox, round: number): Promise<void> {
  const deliveries = Array.from({ length: 1_024 }, (_, index) => ({
    id: `msg_${round}_${index}`,
    timestamp: Math.floor(Date.now() / 1_000),
    body: sampleBody(1_024, index + round * 1_024),
    secretIndex: 0,
  }));
  const storing = receiverOf(path);
  const store = await cost(() => acceptAll(storing.receiver, deliveries), deliveries.length);
  duplicate.push(await cost(() => acceptAll(storing.receiver, deliveries), deliveries.length));
  await storing.receiver.close();
  const handling = receiverOf(path);
  const handle = await cost(async () => {
    await handling.receiver.start();
    while (handling.count() < deliveries.length) await new Promise((resolve) => setTimeout(resolve, 1));
    await handling.receiver.close();
  }, deliveries.length);
  stored.push(store);
  handled.push(store + handle);
}

function receiverOf(path: string) {
  let count = 0;
  const receiver = createReceiver({ secrets: [secret], inbox: sqliteInbox(path), concurrency: 64 });
  receiver.on("*", () => {
    count++;
  });
  return { receiver, count: () => count };
}

type Taking = ReturnType<typeof receiverOf>["receiver"];

async function acceptAll(receiver: Taking, deliveries: readonly Parameters<Taking["accept"]>[0][]) {
  for (let from = 0; from < deliveries.length; from += 64) {
    await Promise.all(deliveries.slice(from, from + 64).map((delivery) => receiver.accept(delivery)));
  }
}

async function cost(work: () => Promise<unknown>, count: number): Promise<number> {
  const cpu = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / count;
}

async function createSchema(path: string): Promise<void> {
  const inbox = sqliteInbox(path);
  await inbox.open();
  await inbox.close();
}

/** Rows as handling leaves them, with ids as a service makes them: in no order. */
function insertFinished(path: string, rows: number): void {
  const database = new Database(path);
  database
    .prepare(
      `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)
       INSERT INTO workspace_tasks_inbox
         (source, webhook_id, channel, state, event, order_key, position, status, signed_at, received_at, due_at, body)
       SELECT 'default', 'msg_' || lower(hex(randomblob(16))), 'webhook', 'done', 'task.completed',
         '["' || lower(hex(randomblob(8))) || '"]', '100001768000000000000.1.' || n, 'COMPLETED',
         ? / 1000, ?, ?, zeroblob(100)
       FROM counted`,
    )
    .run([rows, Date.now(), Date.now(), Date.now()]);
  database.close();
}
