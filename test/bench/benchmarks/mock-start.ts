import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Benchmark, type MeasureOptions, measuredFor, type Result, tableOf } from "../benchmark.ts";
import { atLeast, atMost, number, times } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import type { Sample } from "../meter.ts";
import { medianIn, ratioIn, scaled, spreadIn } from "../statistics.ts";

const ours = "workspace-tasks mock";
const root = join(import.meta.dirname, "..", "..", "..");
const peer = (kind: string) => [join(root, "test", "bench", "peers", "graphql-server.mjs"), kind];
const commands: Readonly<Record<string, readonly string[]>> = {
  [ours]: [join(root, "mock-server/tools/bin/workspace-tasks.js"), "mock", "--port", "0", "--json"],
  "graphql-yoga": peer("yoga"),
  "Apollo Server": peer("apollo"),
  mercurius: peer("mercurius"),
  "graphql-http": peer("graphql-http"),
};

export const benchmark: Benchmark = {
  title: "The mock starts",
  question: "How long does the mock take to start?",
  answer: (result) =>
    `${measuredFor(result, "this mock, wall time")}; graphql-yoga takes ${measuredFor(result, "graphql-yoga ÷ this mock, wall time")}`,
  about:
    "From spawning the process to its first response to a query. The mock starts with its command line, a seeded workspace, control API and " +
    "deliveries; the peers serve the same schema without data. Wall time, and CPU time of the process.",
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const names = Object.keys(commands);
  const samples = await inTurns(names, { rounds: quick ? 2 : 15, warmUpRounds: 1 }, (name) =>
    start(commands[name] ?? []),
  );
  const wallRatio = (name: string) => ratioIn(samples, ours, name, "wallUs");
  return {
    goals: [
      atLeast("graphql-yoga ÷ this mock, wall time", 1, wallRatio("graphql-yoga")),
      atMost("CPU time ÷ that of graphql-http", 1.3, ratioIn(samples, "graphql-http", ours, "cpuUs"), "×"),
      atMost("this mock, wall time", 250, scaled(spreadIn(samples, ours, "wallUs"), 0.001), "ms"),
    ],
    tables: [
      tableOf(
        ["", "wall time, ms", "CPU time, ms", "wall time ÷ this mock", "CPU time ÷ this mock"],
        names,
        (name) => [
          name,
          number(medianIn(samples, name, "wallUs") / 1_000),
          number(medianIn(samples, name, "cpuUs") / 1_000),
          times(wallRatio(name)),
          times(ratioIn(samples, ours, name, "cpuUs")),
        ],
      ),
    ],
  };
}

async function start(args: readonly string[]): Promise<Sample> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  try {
    const port = await portOf(child.stdout);
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: "query Catalog { __typename }" }),
    });
    await response.text();
    if (!response.ok) throw new Error(`${args[0]} responded with ${response.status}`);
    const wallUs = (performance.now() - startedAt) * 1_000;
    return { wallUs, cpuUs: cpuUsOf(child.pid) };
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}

async function portOf(output: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: output })) {
    const { port, baseUrl } = JSON.parse(line) as { port?: number; baseUrl?: string };
    return port ?? Number(new URL(baseUrl ?? "").port);
  }
  throw new Error("the server exited before it reported its port");
}

/** CPU time of all threads of a process, as the scheduler counts it; known on Linux only. */
function cpuUsOf(pid: number | undefined): number {
  if (process.platform !== "linux") return Number.NaN;
  const spentNs = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return spentNs.reduce((sum, ns) => sum + ns, 0) / 1_000;
}
