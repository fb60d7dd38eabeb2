import { getEventListeners } from "node:events";
import { createClient } from "@workspace-tasks/sdk";
import {
  type Benchmark,
  goal,
  type MeasureOptions,
  measuredFor,
  number,
  type Result,
  tableOf,
  whole,
} from "../benchmark.ts";
import { createMemoryClient, listTasksText } from "../memory-service.ts";
import { heapBytes } from "../meter.ts";

export const benchmark: Benchmark = {
  title: "The SDK's memory",
  question: "Does a client leak memory?",
  answer: (result) =>
    `${measuredFor(result, "growth over 100,000 calls")} over 100,000 calls; a client takes ${measuredFor(result, "heap per client")}`,
  about:
    "Heap after a collection: of a client before its first call, and its growth over 100,000 calls with one shared `AbortSignal`; the slope is fitted to the " +
    "second half.",
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const calls = quick ? 5_000 : 100_000;
  const perClient = heapPerClient(quick ? 100 : 1_000);
  const { slope, points, listeners } = await heapOverCalls(calls);
  return {
    goals: [
      goal(
        `growth over ${whole(calls)} calls`,
        "none (≤ 1 byte per call)",
        `${number(slope)} bytes per call`,
        slope <= 1,
      ),
      goal("listeners left on the shared signal", "0", String(listeners), listeners === 0),
      goal("heap per client", "≤ 50 KB", `${number(perClient / 1_000)} KB`, perClient <= 50_000),
    ],
    tables: [tableOf(["calls", "heap, MB"], points, ([count, bytes]) => [whole(count), number(bytes / 1e6)])],
  };
}

const priorities = ["interactive", "normal", "background"] as const;

function heapPerClient(count: number): number {
  const create = () => createClient({ apiKey: "key", baseUrl: "http://service.localhost" });
  create();
  const before = heapBytes();
  const clients = Array.from({ length: count }, create);
  const bytes = heapBytes() - before;
  // Read after the measurement, so that they are alive during it.
  return bytes / clients.length;
}

async function heapOverCalls(calls: number) {
  // Slower than the rate limit, of which background calls may not use all: nothing moves the clock while one waits.
  const client = createMemoryClient(undefined, 2_000);
  const { signal } = new AbortController();
  const points: [number, number][] = [];
  for (let done = 0; done <= calls; done++) {
    if (done % (calls / 10) === 0) points.push([done, heapBytes()]);
    await client.request(listTasksText, { limit: 20 }, { signal, priority: priorities[done % 3] });
  }
  return {
    points,
    slope: slopeOf(points.slice(5)),
    listeners: getEventListeners(signal, "abort").length,
  };
}

/** Least squares. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const covariance = mean(points.map(([x, y]) => (x - meanX) * (y - meanY)));
  return covariance / mean(points.map(([x]) => (x - meanX) ** 2));
}
