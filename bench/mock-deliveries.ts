import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { createMockServer } from "workspace-tasks/mock-server";
import { registerEndpoint } from "./register-endpoint.ts";

// Deliveries over real sockets to a receiver in another thread: signed, sent, answered and recorded. Run:
//   npx tsx --conditions=workspace-tasks-source bench/mock-deliveries.ts
// Goal: 8,000 per second.

const deliveriesPerRound = 20_000;
const rounds = 4;

/** As text, because a worker thread does not share the loader for TypeScript. */
const receiverSource = `
  const { createServer } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

const receiver = new Worker(receiverSource, { eval: true });
const [port] = await once(receiver, "message");
const mock = await createMockServer({ listen: false });
await registerEndpoint(mock, `http://127.0.0.1:${port}/hook`);
const { clientId } = mock.admin.startTask({ taskType: "BINDER", progression: "manual" });

for (let round = 1; round <= rounds; round++) {
  const startedAt = performance.now();
  const allAnswered = answers(deliveriesPerRound);
  for (let count = 0; count < deliveriesPerRound; count++) {
    mock.admin.startTask({ taskType: "BINDER", progression: "manual", clientId });
  }
  await allAnswered;
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`round ${round}: ${Math.round(deliveriesPerRound / seconds)} deliveries per second`);
}
await mock.close();
await receiver.terminate();

function answers(count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const stop = mock.admin.listen(({ type }) => {
      if (type !== "delivery.attempted" || --left > 0) return;
      stop();
      resolve();
    });
  });
}
