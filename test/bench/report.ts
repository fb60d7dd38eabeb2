import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "../support/documents.ts";
import type { Benchmark, Goal, Machine, RecordedResult } from "./benchmark.ts";

/** By the first word of a benchmark's name. */
const products = { sdk: "SDK", mock: "Mock server", receiver: "Receiver kit" };

interface Entry extends Benchmark {
  readonly product: string;
  readonly result: RecordedResult;
}

/** Names of the files in `benchmarks/`. */
export function benchmarkNames(folder: string): readonly string[] {
  return readdirSync(join(folder, "benchmarks"))
    .sort()
    .map((file) => file.slice(0, -".ts".length));
}

/**
 * Writes docs/benchmarks.md from `benchmarks/` and `results/`: what users ask, with the answers. The tables behind them are in
 * `results/`, from where the site and the package have them.
 */
export async function writeReport(folder: string): Promise<void> {
  const entries: Entry[] = [];
  for (const [prefix, product] of Object.entries(products)) {
    for (const name of benchmarkNames(folder).filter((each) => each.startsWith(`${prefix}-`))) {
      const { benchmark } = (await import(join(folder, "benchmarks", `${name}.ts`))) as {
        benchmark: Benchmark;
      };
      const result = JSON.parse(readFileSync(join(folder, "results", `${name}.json`), "utf8"));
      entries.push({ product, ...benchmark, result });
    }
  }
  const docs = join(folder, "..", "..", "docs");
  writeFileSync(join(docs, "benchmarks.md"), page(entries, peerVersions(folder)));
  const tables = forEachProduct((product) => sections(product, entries));
  writeFileSync(join(folder, "results", "tables.txt"), `${tables}\n`);
  console.log("\nwrote docs/benchmarks.md");
}

function page(entries: readonly Entry[], peers: string): string {
  return `# Benchmarks

<!-- Written by test/bench/report.ts from test/bench/benchmarks and test/bench/results; do not edit by hand. -->

What the SDK, the mock and the receiver kit cost, and how they compare. Costs are CPU time; a ratio says how many times as much the other takes.

${forEachProduct((product) => answers(product, entries))}

${goalSummary(entries)}

## Method

- Ratios are the result; absolute times depend on this small shared machine. What is compared takes turns in several rounds.
- Values are medians; the range in parentheses is from the first to the third quartile.
- Time is CPU time of the process that does the work, unless a column says otherwise.
- The tables of each measurement are on the site: its machine, load, peers and goals.
- \`npm run bench\` measures everything and writes this page; \`-- --only verify,mock-query\` selects benchmarks by words of their names,
  \`-- --report\` only writes the page.

Compared with: ${peers}.

<!-- @include: ./reference/benchmarks.md -->
`;
}

const forEachProduct = (write: (product: string) => string) =>
  Object.values(products).map(write).join("\n\n");

function answers(product: string, entries: readonly Entry[]): string {
  const rows = entries
    .filter((each) => each.product === product)
    .map(({ question, answer, result }) => [question, answer(result)]);
  return markdownTable([product, ""], rows);
}

function goalSummary(entries: readonly Entry[]): string {
  const goals = entries.flatMap(({ title, result }) => result.goals.map((goal) => ({ ...goal, title })));
  const missed = goals.filter(({ met }) => !met);
  const titles = new Set(missed.map(({ title }) => title));
  const list = [...titles].map((title) => `"${title}"`);
  const summary = `${goals.length - missed.length} of ${goals.length} goals are met`;
  return missed.length > 0 ? `${summary}. Missed are some of ${list.join(" and ")}.` : `${summary}.`;
}

function sections(product: string, entries: readonly Entry[]): string {
  const own = entries.filter((each) => each.product === product);
  return [`## ${product}`, ...own.map(section)].join("\n\n");
}

function section({ title, about, notes = [], result }: Entry): string {
  const { goals, tables, machine } = result;
  return [
    `### ${title}`,
    about,
    ...tables.map(({ columns, rows }) => markdownTable(columns, rows, "---:")),
    ...missedGoals(goals),
    ...notes,
    `<sub>${describeRun(machine)}</sub>`,
  ].join("\n\n");
}

/** Targets and measured values of the goals that are not met. All of them are in `results/`. */
function missedGoals(goals: readonly Goal[]): readonly string[] {
  const list = goals
    .filter(({ met }) => !met)
    .map(({ what, target, measured }) => `${what}: expected ${target}, measured ${measured}`);
  return list.length === 0 ? [] : [`Missed: ${list.join("; ")}.`];
}

const describeRun = ({ date, node, cores, processor, load: [before, after] }: Machine) =>
  `${date}, Node ${node}, ${cores} cores of ${processor}, load ${before.toFixed(1)} before, ${after.toFixed(1)} after`;

function peerVersions(folder: string): string {
  const read = (path: string) => JSON.parse(readFileSync(join(folder, path, "package.json"), "utf8"));
  const { devDependencies } = read("../..");
  const ownPeers = ["express", "graphql-request", "standardwebhooks"];
  const versions: Record<string, string> = {
    ...Object.fromEntries(ownPeers.map((name) => [name, devDependencies[name]])),
    ...read("peers").dependencies,
  };
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version.replace("^", "")}`)
    .sort()
    .join(", ");
}
