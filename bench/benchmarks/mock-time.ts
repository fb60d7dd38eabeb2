import { createMockServer } from "workspace-tasks/mock-server";
import { type Benchmark, type MeasureOptions, measuredFor, type Result, tableOf } from "../benchmark.ts";
import { atMost, spread, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { heapBytes, startMeter } from "../meter.ts";
import { startTasks } from "../start-tasks.ts";
import { spreadIn } from "../statistics.ts";

const stageNames = ["document-classification", "tax-extraction", "reconciliation", "data-entry", "review"];
const dayMs = 86_400_000;
const url = "https://receiver.example/hook";

interface Scenario {
  readonly tasks: number;
  readonly delivers: boolean;
}

const small: Scenario = { tasks: 10_000, delivers: false };
const large: Scenario = { tasks: 100_000, delivers: false };
const delivering: Scenario = { tasks: 10_000, delivers: true };
const scenarios = [small, large, delivering];

export const benchmark: Benchmark = {
  title: "The mock moves time",
  question: "How long does the mock take to move 100,000 tasks through seven virtual days?",
  answer: (result) => measuredFor(result, "100,000 tasks, wall time"),
  about:
    "Tasks with five stages of one virtual day each: seven events per task, only recorded, or built, signed, passed to a receiver function in " +
    "the same process and recorded. Seconds of wall time and CPU time; heap after a collection.",
  notes: [
    "A running task takes some 580 bytes, each later stage 168. With an endpoint most of the time is deliveries; standardwebhooks, whose hash is written in JavaScript, takes an eighth.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await advanceWeek({ tasks: 1_000, delivers: true });
  const rounds = await inTurns(scenarios, { rounds: quick ? 1 : 5 }, advanceWeek);
  const weekSeconds = (scenario: Scenario) => spreadIn(rounds, scenario, "weekSeconds");
  return {
    goals: [
      atMost("10,000 tasks, wall time", 0.6, weekSeconds(small), "s"),
      atMost("100,000 tasks, wall time", 6, weekSeconds(large), "s"),
      atMost("heap of 100,000 running tasks", 60, spreadIn(rounds, large, "runningMegabytes"), "MB"),
    ],
    tables: [
      tableOf(
        ["", "start, s", "7 days, s", "CPU time, s", "heap running, MB", "heap done, MB"],
        scenarios,
        (scenario) => [
          `${whole(scenario.tasks)} tasks, ${scenario.delivers ? `${whole(scenario.tasks * 7)} deliveries` : "no endpoint"}`,
          spread(spreadIn(rounds, scenario, "startSeconds")),
          spread(weekSeconds(scenario)),
          spread(spreadIn(rounds, scenario, "weekCpuSeconds")),
          spread(spreadIn(rounds, scenario, "runningMegabytes")),
          spread(spreadIn(rounds, scenario, "doneMegabytes")),
        ],
      ),
    ],
  };
}

async function advanceWeek({ tasks, delivers }: Scenario) {
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
  if (delivers) await mock.control.createEndpoint({ url });
  const { clientId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  const bytesBefore = heapBytes();
  const megabytes = () => (heapBytes() - bytesBefore) / 1e6;
  const stopStart = startMeter();
  await startTasks(mock, tasks, { taskType: "TAX_PREP", clientId });
  const start = stopStart();
  const runningMegabytes = megabytes();
  const stopWeek = startMeter();
  await mock.clock.advance("7d");
  const week = stopWeek();
  return {
    startSeconds: start.wallUs / 1e6,
    weekSeconds: week.wallUs / 1e6,
    weekCpuSeconds: week.cpuUs / 1e6,
    runningMegabytes,
    doneMegabytes: megabytes(),
  };
}
