// Kills one of two receiver processes that share an inbox in PostgreSQL, and shows that no event is lost.
// A load balancer sends each delivery to one of them, and deliveries are duplicated. At the end the table of task states
// equals the service's tasks. Uses the database of DATABASE_URL, or starts a PostgreSQL server.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import pg from "pg";
import { PostgresServer } from "../test/support/postgres.ts";

const taskCount = 20;
const url = "https://receiver.example/webhooks";

await using server = process.env["DATABASE_URL"] ? null : await PostgresServer.start();
const databaseUrl = server?.url() ?? process.env["DATABASE_URL"];

const ports: number[] = [];
let deliveries = 0;
await using mock = await createMockServer({
  receivers: new Map([[url, balance]]),
  faults: { deliveries: [{ chances: [{ probability: 0.3, fault: { kind: "duplicate" } }] }] },
});
await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
const { signingSecret } = await client.webhooks.endpoints.create({
  url,
  eventTypes: ["task.running", "task.completed", "task.failed"],
});

const first = await startReceiver();
const second = await startReceiver();
console.log(`two receivers, processes ${first.pid} and ${second.pid}`);

const tasks = await Promise.all(
  Array.from({ length: taskCount }, () =>
    mock.control.startTask({ taskType: "BINDER", progression: "manual" }),
  ),
);
await mock.control.waitForDeliveries({ event: "task.running", status: "succeeded", count: taskCount });
first.kill("SIGKILL");
console.log(`process ${first.pid} was killed; ${second.pid} continues alone`);
for (const { taskId } of tasks) await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
await mock.control.waitForDeliveries({ event: "task.completed", status: "succeeded", count: taskCount });

const { completed, applied, processes } = await settledStates();
console.log(`${deliveries} requests for ${2 * taskCount} events: ${applied} changes applied`);
console.log(`${completed} of ${taskCount} tasks are COMPLETED; ${processes} process wrote last`);
second.kill("SIGTERM");
await once(second, "exit");
process.exitCode = completed === taskCount ? 0 : 1;

/** A load balancer: sends each request to the next process, and to the other one when that fails. */
async function balance(request: Request): Promise<Response> {
  deliveries++;
  const body = await request.arrayBuffer();
  for (const [index, port] of [...ports.entries()].sort(() => (deliveries % 2 === 0 ? 1 : -1))) {
    try {
      return await fetch(`http://127.0.0.1:${port}/webhooks`, {
        method: "POST",
        headers: request.headers,
        body,
      });
    } catch {
      ports.splice(index, 1); // the process has ended
    }
  }
  return new Response(null, { status: 503 });
}

async function startReceiver(): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("./receiver-postgres.ts", import.meta.url)), {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      WORKSPACE_TASKS_SIGNING_SECRET: signingSecret,
      WORKSPACE_TASKS_BASE_URL: mock.baseUrl,
      WORKSPACE_TASKS_API_KEY: mock.apiKey,
      PORT: "0",
    },
  });
  const [address] = (await once(child, "message")) as [AddressInfo];
  ports.push(address.port);
  return child;
}

/** Counts over the table of task states, once all tasks are COMPLETED. */
async function settledStates() {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const ids = tasks.map(({ taskId }) => taskId);
    for (const deadline = Date.now() + 30_000; ; ) {
      const { rows } = await database.query(
        `SELECT count(*) FILTER (WHERE status = 'COMPLETED')::int AS completed, sum(changes)::int AS applied,
                count(DISTINCT changed_by)::int AS processes
           FROM task_states WHERE task_id = ANY ($1)`,
        [ids],
      );
      if (rows[0].completed === taskCount || Date.now() > deadline) return rows[0];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await database.end();
  }
}
