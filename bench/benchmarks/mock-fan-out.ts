import { createMockServer } from "workspace-tasks/mock-server";
import { type Benchmark, cellOf, type MeasureOptions, type Result, tableOf } from "../benchmark.ts";
import { spread } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { type Sample, startMeter } from "../meter.ts";
import { startTasks } from "../start-tasks.ts";
import { medianIn, scaled, spreadIn } from "../statistics.ts";

const endpointCounts = [1, 10, 100, 1_000];

export const benchmark: Benchmark = {
  title: "Growth: endpoints of one event",
  question: "What does one delivery cost when its event has 1,000 endpoints?",
  answer: (result) =>
    `${cellOf(result, "1000", "µs per delivery")} µs; with one endpoint ${cellOf(result, "1", "µs per delivery")} µs`,
  about:
    "10,000 deliveries of events with one to a thousand endpoints: built, signed, passed to a receiver function in the same process, and " +
    "recorded. µs of CPU time.",
  notes: ["The cost of an event is proportional to its endpoints."],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const deliveries = quick ? 1_000 : 10_000;
  await fanOut(10, deliveries / 4);
  const rounds = await inTurns(endpointCounts, { rounds: quick ? 1 : 5 }, (count) =>
    fanOut(count, deliveries),
  );
  const points = (scale: (count: number) => number) =>
    endpointCounts.map((count) => [count, medianIn(rounds, count, "cpuUs") * scale(count)] as const);
  return {
    goals: [],
    tables: [
      tableOf(["endpoints", "µs per delivery", "µs per event"], endpointCounts, (count) => [
        String(count),
        spread(spreadIn(rounds, count, "cpuUs")),
        spread(scaled(spreadIn(rounds, count, "cpuUs"), count)),
      ]),
    ],
    plots: [
      {
        name: "fan-out",
        title: "Fan-out of one event",
        x: "endpoints subscribed",
        y: "µs of CPU time",
        series: [
          { name: "µs per delivery", points: points(() => 1) },
          { name: "µs per event", points: points((count) => count) },
        ],
      },
    ],
  };
}

/** Per delivery. */
async function fanOut(endpoints: number, deliveries: number): Promise<Sample> {
  const urls = Array.from({ length: endpoints }, (_, index) => `https://receiver-${index}.example/hook`);
  await using mock = await createMockServer({
    listen: false,
    clock: "virtual",
    receivers: new Map(urls.map((url) => [url, () => new Response(null, { status: 204 })])),
    settings: { rateLimit: { requests: 1_000_000 } },
  });
  for (const url of urls) await mock.control.createEndpoint({ url });
  const { clientId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  await mock.clock.advance(1);
  const stop = startMeter();
  await startTasks(mock, deliveries / endpoints, { taskType: "BINDER", progression: "manual", clientId });
  await mock.clock.advance(1);
  return stop(deliveries);
}
