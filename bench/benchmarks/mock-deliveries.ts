import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { createMockServer, type MockServer } from "workspace-tasks/mock-server";
import type { Measure } from "../finding.ts";
import { registerEndpoint } from "../register-endpoint.ts";
import { spreadOf } from "../samples.ts";
import { atLeast, spread } from "../words.ts";

/** As text, because a worker thread does not share the loader for TypeScript. */
const receiverSource = `
  const { createServer } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

export const measure: Measure = async ({ quick }) => {
  const count = quick ? 1_000 : 20_000;
  const receiver = new Worker(receiverSource, { eval: true });
  const [port] = await once(receiver, "message");
  const mock = await createMockServer({ listen: false });
  await registerEndpoint(mock, `http://127.0.0.1:${port}/hook`);
  const { clientId } = mock.admin.startTask({ taskType: "BINDER", progression: "manual" });
  const perSecond: number[] = [];
  const cpuUs: number[] = [];
  for (let round = -1; round < (quick ? 2 : 7); round++) {
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    const allAnswered = answers(mock, count);
    for (let started = 0; started < count; started++) {
      mock.admin.startTask({ taskType: "BINDER", progression: "manual", clientId });
    }
    await allAnswered;
    const seconds = (performance.now() - startedAt) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    if (round < 0) continue;
    perSecond.push(count / seconds);
    cpuUs.push((user + system) / count);
  }
  await mock.close();
  await receiver.terminate();
  const goal = atLeast("deliveries per second, wall", 8_000, spreadOf(perSecond), "/s");
  return {
    title: "The mock delivers",
    about:
      `${count.toLocaleString("en-US")} events at once over real sockets to a receiver in another thread that answers 204: built, signed with ` +
      "standardwebhooks, sent over keep-alive connections, answered and recorded with headers and body. Deliveries per " +
      "second of the wall; the processor time counts both threads, sender and receiver.",
    goals: [goal],
    tables: [
      {
        columns: ["", "measured"],
        rows: [
          ["deliveries per second", goal.measured],
          ["µs of processor time per delivery, both sides", spread(spreadOf(cpuUs))],
        ],
      },
    ],
    notes: [
      "The goal is one of the wall; sender and receiver are two threads on two cores, which other programs use as well: see the load.",
      "Hours later on the same day, when the host was slower, this code and the code of this measurement made 5,300 to 7,300 in turns: a number of the wall says as much about the machine.",
    ],
  };
};

function answers(mock: MockServer, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const stop = mock.admin.listen(({ type }) => {
      if (type !== "delivery.attempted" || --left > 0) return;
      stop();
      resolve();
    });
  });
}
