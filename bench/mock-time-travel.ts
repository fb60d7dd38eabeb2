import { createMockServer } from "workspace-tasks/mock-server";
import { registerEndpoint } from "./register-endpoint.ts";

// Seven virtual days over many tasks, and the memory they take. Run:
//   npx tsx --expose-gc --conditions=workspace-tasks-source bench/mock-time-travel.ts [tasks]
// Goals: 10,000 tasks within 0.6 s, 100,000 within 6 s, 60 MB of heap per 100,000 tasks that run.

const collectGarbage = globalThis.gc;
if (!collectGarbage) throw new Error("run with --expose-gc");

const heapMegabytes = () => {
  for (let round = 0; round < 3; round++) collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
};

/** Time on the wall and of the processor: on a busy machine only the second compares. */
function takeTime(): () => string {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return `${Math.round(performance.now() - wall)} ms (${Math.round((user + system) / 1_000)} ms CPU)`;
  };
}

const stageNames = ["document-classification", "tax-extraction", "reconciliation", "data-entry", "review"];
const dayMs = 86_400_000;

/** @param answer what a receiver in this process answers; `null`: there is no endpoint */
async function travel(tasks: number, answer: number | null) {
  const url = "https://receiver.example/hook";
  await using mock = await createMockServer({
    listen: false,
    clock: "virtual",
    receivers: new Map([[url, () => new Response(null, { status: answer ?? 204 })]]),
    settings: {
      tasks: {
        plans: {
          TAX_PREP: { mode: "timed", stages: stageNames.map((type) => ({ type, durationMs: dayMs })) },
        },
      },
    },
  });
  if (answer !== null) await registerEndpoint(mock, url);
  const clientId = mock.admin.task(
    mock.admin.startTask({ taskType: "BINDER", progression: "manual" }).taskId,
  ).clientId;

  const before = heapMegabytes();
  const startedAt = takeTime();
  for (let count = 0; count < tasks; count++) mock.admin.startTask({ taskType: "TAX_PREP", clientId });
  const started = startedAt();
  const running = heapMegabytes() - before;
  const advancedAt = takeTime();
  await mock.clock.advance("7d");
  const advanced = advancedAt();
  console.log(
    [
      `${tasks} tasks, ${answer === null ? "no endpoint" : `receiver answers ${answer}`}:`,
      `started in ${started},`,
      `7 days in ${advanced},`,
      `heap ${Math.round(running)} MB running, ${Math.round(heapMegabytes() - before)} MB done`,
    ].join(" "),
  );
}

const [chosen] = process.argv.slice(2);
await travel(1_000, 204);
for (const tasks of chosen ? [Number(chosen)] : [10_000, 100_000]) await travel(tasks, null);
await travel(10_000, 204);
