import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { createMockServer, type MockServer } from "workspace-tasks/mock-server";
import { type Benchmark, cellOf, type MeasureOptions, type Result } from "../benchmark.ts";
import { atLeast, spread } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { type Sample, startMeter } from "../meter.ts";
import { startTasks } from "../start-tasks.ts";
import { spreadOf } from "../statistics.ts";

/** As text, because a worker thread does not inherit the TypeScript loader. */
const receiverSource = `
  const { createServer } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

export const benchmark: Benchmark = {
  title: "The mock delivers",
  question: "How many deliveries does the mock send per second?",
  answer: (result) => cellOf(result, "deliveries per second", "measured"),
  about:
    "20,000 concurrent events over real sockets to a receiver in another thread: built, signed with standardwebhooks, sent, and recorded " +
    "with the response. Deliveries per second of wall time; CPU time of both threads.",
  notes: ["Wall time depends on the machine: hours later this code sent 5,300 to 7,300 per second."],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const count = quick ? 1_000 : 20_000;
  const receiver = new Worker(receiverSource, { eval: true });
  const [port] = await once(receiver, "message");
  const mock = await createMockServer({ listen: false });
  await mock.control.createEndpoint({ url: `http://127.0.0.1:${port}/hook` });
  const { clientId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  const rounds = await inTurns([mock], { rounds: quick ? 2 : 7, warmUpRounds: 1 }, () =>
    deliverAll(mock, clientId, count),
  );
  await mock.close();
  await receiver.terminate();
  const samples = rounds.get(mock) ?? [];
  const perSecond = spreadOf(samples.map(({ wallUs }) => 1e6 / wallUs));
  const goal = atLeast("deliveries per second, wall time", 8_000, perSecond, "/s");
  return {
    goals: [goal],
    tables: [
      {
        columns: ["", "measured"],
        rows: [
          ["deliveries per second", goal.measured],
          ["µs of CPU time per delivery, both sides", spread(spreadOf(samples.map(({ cpuUs }) => cpuUs)))],
        ],
      },
    ],
  };
}

async function deliverAll(mock: MockServer, clientId: string, count: number): Promise<Sample> {
  const stop = startMeter();
  const allAttempted = attempts(mock, count);
  await startTasks(mock, count, { taskType: "BINDER", progression: "manual", clientId });
  await allAttempted;
  return stop(count);
}

function attempts(mock: MockServer, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const stop = mock.subscribe(({ type }) => {
      if (type !== "delivery.attempted" || --left > 0) return;
      stop();
      resolve();
    });
  });
}
