import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Benchmark, type MeasureOptions, measuredFor, type Result, tableOf } from "../benchmark.ts";
import { atMost, number, spread } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { differenceIn, medianIn, spreadIn } from "../statistics.ts";

const folder = join(import.meta.dirname, "..");
const ours = "@workspace-tasks/sdk";
const baseline = "graphql-request";
const ownModules = [
  ours,
  "@workspace-tasks/events",
  "@workspace-tasks/receiver-kit",
  "@workspace-tasks/mock-server",
  baseline,
  "graphql",
  "zod",
];
const peerModules = ["@linear/sdk", "octokit", "openai", "@shopify/graphql-client"];

export const benchmark: Benchmark = {
  title: "Importing the SDK",
  question: "What does importing the SDK cost?",
  answer: (result) =>
    `${measuredFor(result, "this SDK beyond graphql-request")} compared with graphql-request alone`,
  about:
    "A new process imports one module: CPU time in ms, and heap after a collection. The files are in the system's cache.",
  notes: [
    "The SDK validates arguments without zod (50 ms), is one file (13 ms), and loads `node:crypto` at the first call (8 ms). graphql-request spends its time on graphql; the events on zod, whose schemas are public.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const modules = [...ownModules, ...peerModules];
  const imports = await inTurns(modules, { rounds: quick ? 2 : 15, warmUpRounds: 1 }, importAlone);
  const over = differenceIn(imports, ours, baseline, "cpuMs");
  return {
    goals: [atMost("this SDK beyond graphql-request", 15, over, "ms")],
    tables: [
      tableOf(["", "ms", "heap, MB"], modules, (name) => [
        name,
        spread(spreadIn(imports, name, "cpuMs")),
        number(medianIn(imports, name, "heapMegabytes")),
      ]),
    ],
  };
}

function importAlone(name: string): { readonly cpuMs: number; readonly heapMegabytes: number } {
  const script = `
    globalThis.gc();
    const heap = process.memoryUsage().heapUsed;
    const cpu = process.cpuUsage();
    await import(${JSON.stringify(name)});
    const { user, system } = process.cpuUsage(cpu);
    globalThis.gc();
    const heapMegabytes = (process.memoryUsage().heapUsed - heap) / 1e6;
    console.log(JSON.stringify({ cpuMs: (user + system) / 1000, heapMegabytes }));`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--expose-gc", "--input-type=module", "--eval", script],
    { cwd: peerModules.includes(name) ? join(folder, "peers") : folder, encoding: "utf8" },
  );
  if (!stdout) throw new Error(`${name} cannot be imported: ${stderr}`);
  return JSON.parse(stdout);
}
