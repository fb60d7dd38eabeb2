import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Measure } from "../finding.ts";
import { spreadOf } from "../samples.ts";
import { atMost, number, spread } from "../words.ts";

const folder = join(import.meta.dirname, "..");
const peers = join(folder, "peers");
const ours = "workspace-tasks/sdk";
const baseline = "graphql-request";
const modules: readonly { readonly name: string; readonly from: string }[] = [
  { name: ours, from: folder },
  { name: "workspace-tasks/events", from: folder },
  { name: "workspace-tasks/receiver-kit", from: folder },
  { name: "workspace-tasks/mock-server", from: folder },
  { name: baseline, from: folder },
  { name: "graphql", from: folder },
  { name: "zod", from: folder },
  { name: "@linear/sdk", from: peers },
  { name: "octokit", from: peers },
  { name: "openai", from: peers },
  { name: "@shopify/graphql-client", from: peers },
];

type Import = { readonly cpuMs: number; readonly heapMegabytes: number };

export const measure: Measure = async ({ quick }) => {
  const imports = new Map<string, Import[]>(modules.map(({ name }) => [name, []]));
  for (let round = -1; round < (quick ? 2 : 15); round++) {
    for (const { name, from } of modules) {
      const found = importAlone(name, from);
      if (round >= 0) imports.get(name)?.push(found);
    }
  }
  const of = (name: string, field: keyof Import) => (imports.get(name) ?? []).map((each) => each[field]);
  const over = spreadOf(
    of(ours, "cpuMs").map((ms, round) => ms - (of(baseline, "cpuMs")[round] ?? Number.NaN)),
  );
  return {
    title: "Importing the SDK",
    about:
      "A new process imports one module and nothing else: processor time of the import in ms, and the heap it leaves after a collection. The files are in the system's cache.",
    goals: [atMost("this SDK beyond graphql-request", 15, over, "ms")],
    tables: [
      {
        columns: ["", "ms", "heap, MB"],
        rows: modules.map(({ name }) => [
          name,
          spread(spreadOf(of(name, "cpuMs"))),
          number(spreadOf(of(name, "heapMegabytes")).median),
        ]),
      },
    ],
    notes: [
      "What keeps the SDK near graphql-request, each measured by putting it back: its arguments are checked without zod (50 ms; 64 of zod's 94 files are texts in other languages, whichever of its entries is imported); its fifty sources are joined into one file when the package is built (13 ms); `node:crypto` is loaded by the first call (8 ms, which `fetch` loads in any case: after a first fetch it costs 0.5).",
      "Nearly all that graphql-request costs is graphql, which it imports whole. Nearly all that the events cost is zod, their public schemas; a receiver reads events, and the mock executes GraphQL.",
    ],
  };
};

function importAlone(name: string, cwd: string): Import {
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
    { cwd, encoding: "utf8" },
  );
  if (!stdout) throw new Error(`${name} cannot be imported: ${stderr}`);
  return JSON.parse(stdout) as Import;
}
