import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { DeliverySender } from "../test/support/delivery-sender.ts";
import { PostgresServer } from "../test/support/postgres.ts";
import type { CostReport } from "./delivery-cost-receiver.ts";

// What one delivery costs a receiver from the socket to the handler's committed write: processor time of the receiver
// process, deliveries per second on this machine, and bytes kept. Run:
//   npx tsx --conditions=workspace-tasks-source bench/delivery-cost.ts [deliveries]

const count = Number(process.argv[2] ?? 5_000);
const emptyDatabaseBytes = 7_800_000;
const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-cost-"));

await using server = await PostgresServer.start();
try {
  await measure("SQLite, one process", [join(folder, "webhooks.db")], (store) =>
    Promise.resolve(statSync(store).size + statSync(`${store}-wal`).size),
  );
  await measure("PostgreSQL, one process", [server.url()], databaseBytes);
  await using second = await server.database();
  await measure("PostgreSQL, two processes", [second.url, second.url], databaseBytes);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(
  name: string,
  stores: readonly string[],
  bytesOf: (store: string) => Promise<number>,
): Promise<void> {
  const receivers: ChildProcess[] = [];
  const senders: DeliverySender[] = [];
  for (const store of stores) {
    const child = fork(new URL("./delivery-cost-receiver.ts", import.meta.url), [store, String(count)]);
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    receivers.push(child);
    const sender = new DeliverySender();
    sender.aimAt(port);
    senders.push(sender);
  }
  const startedAt = performance.now();
  const reports = receivers.map(async (child) => ((await once(child, "message")) as [CostReport])[0]);
  await Promise.all(
    senders.map((sender, index) =>
      sender.sweep(
        deliveries().filter((_, each) => each % senders.length === index),
        64,
      ),
    ),
  );
  const acknowledgedMs = performance.now() - startedAt;
  receivers[0]?.send("finish");
  for (const child of receivers.slice(1)) child.send("finish");
  const costs = await Promise.all(reports);
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpuMicros = costs.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0) / count;
  const bytes = (await bytesOf(stores[0] ?? "")) / count;
  console.log(
    `${name}: ${Math.round(cpuMicros)} µs of processor time, ${Math.round(bytes)} bytes kept per delivery; ` +
      `${Math.round((count / acknowledgedMs) * 1_000)}/s acknowledged, ${Math.round(count / seconds)}/s handled`,
  );
  for (const sender of senders) sender[Symbol.dispose]();
  await Promise.all(receivers.map((child) => once(child, "exit")));
}

/** Events of about 700 bytes, each of a task of its own. */
function deliveries() {
  return Array.from({ length: count }, (_, index) => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const body = JSON.stringify({
      id,
      event: "task.completed",
      version: "2",
      occurredAt: new Date().toISOString(),
      workspaceId: id,
      clientId: id,
      taskId: id,
      taskType: "TAX_PREP",
      status: "COMPLETED",
      errorMessage: null,
      taxPrepResult: {
        taxYear: 2025,
        returnType: "F1040",
        summary: "F1040 for 2025 prepared from 12 documents.",
        documentCount: 12,
        extractedFormCount: 9,
        reviewItemCount: 1,
        reviewItems: [{ severity: "low", category: "income", description: "one 1099 without a payer" }],
      },
      customerError: null,
    });
    return { id: `msg_${id}`, body };
  });
}

async function databaseBytes(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("SELECT pg_database_size(current_database()) AS bytes");
  await client.end();
  return Number(rows[0].bytes) - emptyDatabaseBytes;
}
