// The receiver was away while tasks went on, and the deliveries of that time are given up. Reconciling reads
// the truth from the tasks API and puts it before the same state handlers, behind the same ordering guard.

import { createMockServer } from "workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "workspace-tasks/receiver-kit";
import { createClient } from "workspace-tasks/sdk";

const url = "https://receiver.example/webhooks";
let reachable = true;
const board = new Map<string, string>();

// In this process and on a virtual clock: the hours of downtime pass in a moment.
const receivers = new Map([[url, (request: Request) => answer(request)]]);
await using mock = await createMockServer({ listen: false, clock: "virtual", receivers });
await using client = createClient({
  apiKey: mock.apiKey,
  baseUrl: mock.baseUrl,
  fetch: mock.fetch,
  clock: mock.clock,
});
const { signingSecret } = await client.webhooks.endpoints.create({ url });
await using receiver = createReceiver({
  secrets: [signingSecret],
  inbox: memoryInbox({ clock: mock.clock }),
  clock: mock.clock,
});
receiver.onState("task", (event) => void board.set(event.taskId, event.status));
await receiver.start();

const { taskId } = mock.admin.startTask({ taskType: "TAX_PREP", progression: "manual" });
await mock.clock.advance("1m");
console.log(`before the downtime: ${board.get(taskId)}`);

reachable = false;
mock.admin.moveTask(taskId, { status: "COMPLETED" });
await mock.clock.advance("28h"); // all eight attempts
const [delivery] = mock.admin.deliveries({ event: "task.completed" }).data;
console.log(`after 28 hours: delivery ${delivery?.status} after ${delivery?.attemptCount} attempts`);
console.log(`the receiver believes: ${board.get(taskId)}`);

reachable = true;
const { examined, enqueued } = await receiver.reconcile(client);
await mock.clock.advance("1m");
console.log(`reconciled: ${examined} task looked up, ${enqueued} changes found`);
console.log(`the receiver knows: ${board.get(taskId)}`);
process.exitCode = board.get(taskId) === "COMPLETED" ? 0 : 1;

async function answer(request: Request): Promise<Response> {
  return reachable ? receiver.fetch(request) : new Response(null, { status: 503 });
}
