// Recovers the task states that a receiver missed while it was down.
// The service has stopped retrying. Reconciling reads the tasks API and passes the changes to the same state handlers.

import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { createClient } from "@workspace-tasks/sdk";

const url = "https://receiver.example/webhooks";
let reachable = true;
const states = new Map<string, string>();

// In one process and on a virtual clock, so that 28 hours pass at once.
const receivers = new Map([[url, (request: Request) => deliver(request)]]);
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
receiver.onState("task", (event) => void states.set(event.taskId, event.status));
await receiver.start();

const { taskId } = await mock.control.startTask({ taskType: "TAX_PREP", progression: "manual" });
await mock.clock.advance("1m");
console.log(`before the downtime: ${states.get(taskId)}`);

reachable = false;
await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
await mock.clock.advance("28h"); // eight attempts
const [delivery] = (await mock.control.listDeliveries({ event: "task.completed" })).data;
console.log(`after 28 hours: delivery ${delivery?.status} after ${delivery?.attemptCount} attempts`);
console.log(`the receiver has: ${states.get(taskId)}`);

reachable = true;
const { examined, enqueued } = await receiver.reconcile(client);
await mock.clock.advance("1m");
console.log(`reconciled: ${examined} task examined, ${enqueued} changes enqueued`);
console.log(`the receiver has: ${states.get(taskId)}`);
process.exitCode = states.get(taskId) === "COMPLETED" ? 0 : 1;

async function deliver(request: Request): Promise<Response> {
  return reachable ? receiver.fetch(request) : new Response(null, { status: 503 });
}
