import { createMockServer } from "workspace-tasks/mock-server";
import type { Measure } from "../finding.ts";
import { registerEndpoint } from "../register-endpoint.ts";
import { type Spread, spreadOf } from "../samples.ts";
import { atMost, spread, whole } from "../words.ts";

const stageNames = ["document-classification", "tax-extraction", "reconciliation", "data-entry", "review"];
const dayMs = 86_400_000;
const url = "https://receiver.example/hook";

type Travel = {
  readonly startedMs: number;
  readonly advancedMs: number;
  readonly advancedCpuMs: number;
  readonly runningMegabytes: number;
  readonly doneMegabytes: number;
};

export const measure: Measure = async ({ quick }) => {
  const rounds = quick ? 1 : 5;
  const cases = [
    { tasks: 10_000, delivers: false },
    { tasks: 100_000, delivers: false },
    { tasks: 10_000, delivers: true },
  ];
  const travels: Travel[][] = cases.map(() => []);
  await travel(1_000, true);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { tasks, delivers }] of cases.entries())
      travels[index]?.push(await travel(tasks, delivers));
  }
  const of = (index: number, field: keyof Travel, scale = 1): Spread =>
    spreadOf((travels[index] ?? []).map((each) => each[field] * scale));
  return {
    title: "The mock moves time",
    about:
      "Seven virtual days over tasks of five stages, one a day: seven events a task. Without an endpoint the events are only " +
      "noted; with one each is built, signed, handed to a receiver function in the same process as a `Request`, answered and " +
      "recorded. Seconds on the wall and of the processor; heap after a collection.",
    goals: [
      atMost("10,000 tasks, wall", 0.6, of(0, "advancedMs", 0.001), "s"),
      atMost("100,000 tasks, wall", 6, of(1, "advancedMs", 0.001), "s"),
      atMost("heap of 100,000 tasks that run", 60, of(1, "runningMegabytes"), "MB"),
    ],
    tables: [
      {
        columns: ["", "start, s", "7 days, s", "of the processor, s", "heap running, MB", "heap done, MB"],
        rows: cases.map(({ tasks, delivers }, index) => [
          `${whole(tasks)} tasks, ${delivers ? `${whole(tasks * 7)} deliveries` : "no endpoint"}`,
          spread(of(index, "startedMs", 0.001)),
          spread(of(index, "advancedMs", 0.001)),
          spread(of(index, "advancedCpuMs", 0.001)),
          spread(of(index, "runningMegabytes")),
          spread(of(index, "doneMegabytes")),
        ]),
      },
    ],
    notes: [
      "A running task is three records (the task 144 bytes, its stage 72, where it stands in its plan 64), the list of its stages (56), two ids (112), three times (48) and places in two maps and on the agenda (83): some 580 bytes. Each stage after it adds 72 for itself, 56 for its id, 32 for its times and 8 on the list.",
      "With an endpoint most of the time goes into deliveries. In a profile a quarter is garbage collection, a sixth the making of `Request`s, and an eighth the hash of standardwebhooks, which is written in JavaScript and signs here so that the receiver's own code is judged by another's; the rest is spread over bodies, ids and records.",
    ],
  };
};

async function travel(tasks: number, delivers: boolean): Promise<Travel> {
  await using mock = await createMockServer({
    listen: false,
    clock: "virtual",
    receivers: new Map([[url, () => new Response(null, { status: 204 })]]),
    settings: {
      tasks: {
        plans: {
          TAX_PREP: { mode: "timed", stages: stageNames.map((type) => ({ type, durationMs: dayMs })) },
        },
      },
    },
  });
  if (delivers) await registerEndpoint(mock, url);
  const { clientId } = mock.admin.startTask({ taskType: "BINDER", progression: "manual" });
  const before = heapMegabytes();
  const startedAt = performance.now();
  for (let count = 0; count < tasks; count++) mock.admin.startTask({ taskType: "TAX_PREP", clientId });
  const startedMs = performance.now() - startedAt;
  const runningMegabytes = heapMegabytes() - before;
  const cpu = process.cpuUsage();
  const advancedAt = performance.now();
  await mock.clock.advance("7d");
  const advancedMs = performance.now() - advancedAt;
  const { user, system } = process.cpuUsage(cpu);
  return {
    startedMs,
    advancedMs,
    advancedCpuMs: (user + system) / 1_000,
    runningMegabytes,
    doneMegabytes: heapMegabytes() - before,
  };
}

function heapMegabytes(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}
