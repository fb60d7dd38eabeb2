import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Measure } from "../finding.ts";
import { medianOf, ratioOf, type Sample } from "../samples.ts";
import { atLeast, atMost, number, times } from "../words.ts";

const ours = "workspace-tasks mock";
const root = join(import.meta.dirname, "..", "..");
const peer = (kind: string) => [join(root, "bench", "peers", "graphql-server.mjs"), kind];
const commands: Readonly<Record<string, readonly string[]>> = {
  [ours]: [join(root, "bin", "workspace-tasks.js"), "mock", "--port", "0", "--json"],
  "graphql-yoga": peer("yoga"),
  "Apollo Server": peer("apollo"),
  mercurius: peer("mercurius"),
  "graphql-http": peer("graphql-http"),
};

export const measure: Measure = async ({ quick }) => {
  const samples = new Map<string, Sample[]>(Object.keys(commands).map((name) => [name, []]));
  for (let round = -1; round < (quick ? 2 : 15); round++) {
    for (const [name, args] of Object.entries(commands)) {
      const sample = await start(args);
      if (round >= 0) samples.get(name)?.push(sample);
    }
  }
  const wall = ratioOf(samples, ours, "graphql-yoga", "wallUs");
  const ourWalls = (samples.get(ours) ?? []).map(({ wallUs }) => wallUs / 1_000).sort((a, b) => a - b);
  const quarter = (part: number) => ourWalls[Math.floor((ourWalls.length - 1) * part)] ?? Number.NaN;
  return {
    title: "The mock starts",
    about:
      "From spawning the process to the first answer to a query. The mock comes with its command line, a furnished " +
      "workspace, control API and deliveries; the peers serve the same schema over nothing. Time on the wall, and the processor time of all the process's threads.",
    goals: [
      atLeast("graphql-yoga ÷ this mock, wall", 1, wall),
      atMost("this mock, wall", 250, { median: quarter(0.5), low: quarter(0.25), high: quarter(0.75) }, "ms"),
    ],
    tables: [
      {
        columns: ["", "ms on the wall", "ms of processor", "wall ÷ this mock", "processor ÷ this mock"],
        rows: Object.keys(commands).map((name) => [
          name,
          number(medianOf(samples, name, "wallUs") / 1_000),
          number(medianOf(samples, name) / 1_000),
          times(ratioOf(samples, ours, name, "wallUs")),
          times(ratioOf(samples, ours, name)),
        ]),
      },
    ],
    notes: [
      "On a busy machine the wall says little; what the scheduler gave the process is the better number, and it holds all of the start.",
    ],
  };
};

async function start(args: readonly string[]): Promise<Sample> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    const port = await portOf(child.stdout);
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: "query Catalog { __typename }" }),
    });
    await response.text();
    if (!response.ok) throw new Error(`${args[0]} answered ${response.status}`);
    const wallUs = (performance.now() - startedAt) * 1_000;
    return { wallUs, cpuUs: processorUs(child.pid) };
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

async function portOf(output: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: output })) {
    const { port, baseUrl } = JSON.parse(line) as { port?: number; baseUrl?: string };
    return port ?? Number(new URL(baseUrl ?? "").port);
  }
  throw new Error("the server ended before it said where it listens");
}

/** What the scheduler gave all threads of a process; known on Linux only. */
function processorUs(pid: number | undefined): number {
  if (process.platform !== "linux") return Number.NaN;
  const threads = readdirSync(`/proc/${pid}/task`);
  const spentNs = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return spentNs.reduce((sum, ns) => sum + ns, 0) / 1_000;
}
