// `npm run simulate -- --seeds 100000`: many runs, one seed each, until one fails or all have passed.

import { parseArgs } from "node:util";
import { type CrashCounts, crashPoints, noCrashes } from "./crashes.ts";
import { reportFailure } from "./failure-report.ts";
import { mutants, productsOf } from "./mutants.ts";
import type { Products } from "./scene.ts";
import { runSimulation, type SimulationReport } from "./simulation.ts";

const usage = `usage: npm run simulate -- [--seeds 1000] [--from 1] [--seed N] [--mutant NAME]

  --seeds N      how many seeds to run. Default: 1000
  --from N       the first of them. Default: 1
  --seed N       run this one only, and show the end of its trace
  --mutant NAME  break a product on purpose: ${mutants.map(({ name }) => name).join(", ")}
`;

type Range = { readonly from: number; readonly seeds: number; readonly single: boolean };
type Totals = { seeds: number; deliveries: number; crashes: CrashCounts };

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (options === undefined) {
    process.stderr.write(usage);
    return 2;
  }
  const mutant = mutants.find(({ name }) => name === options.mutantName);
  using mutated = mutant ? await productsOf(mutant) : { products: {}, [Symbol.dispose]() {} };
  const failed = await runSeeds(options, mutated.products);
  if (failed) process.stdout.write(`${reportFailure(failed, options.mutantName)}\n`);
  return failed ? 1 : 0;
}

async function runSeeds(range: Range, products: Partial<Products>): Promise<SimulationReport | undefined> {
  const totals: Totals = { seeds: 0, deliveries: 0, crashes: noCrashes() };
  const progress = createProgress(range);
  for (let seed = range.from; seed < range.from + range.seeds; seed++) {
    const report = await runSimulation({ seed, products });
    totals.seeds += 1;
    totals.deliveries += report.counts.deliveries;
    for (const point of crashPoints) totals.crashes[point] += report.crashes[point];
    progress.show(totals);
    if (range.single && !report.violation) process.stdout.write(`${report.traceTail.join("\n")}\n`);
    if (report.violation) {
      progress.end();
      return report;
    }
  }
  progress.end();
  process.stdout.write(`${describe(totals)}; every invariant held\n`);
  return undefined;
}

/** One line that is written over on a terminal; elsewhere a line per twentieth. */
function createProgress({ seeds }: Range) {
  const isTerminal = process.stderr.isTTY === true;
  const every = isTerminal ? 10 : Math.max(1, Math.ceil(seeds / 20));
  let shown = false;
  return {
    show(totals: Totals) {
      if (totals.seeds % every !== 0 || totals.seeds === seeds) return;
      shown = true;
      const text = `${totals.seeds} of ${seeds}: ${describe(totals)}`;
      process.stderr.write(isTerminal ? `\r\x1b[2K${text}` : `${text}\n`);
    },
    end() {
      if (shown && isTerminal) process.stderr.write("\r\x1b[2K");
    },
  };
}

function describe({ seeds, deliveries, crashes }: Totals): string {
  const total = crashPoints.reduce((sum, point) => sum + crashes[point], 0);
  return `${seeds} seed${seeds === 1 ? "" : "s"}, ${deliveries} deliveries, ${total} crashes and stalls`;
}

function readArguments(args: readonly string[]): (Range & { readonly mutantName?: string }) | undefined {
  try {
    const options = { seeds: text, from: text, seed: text, mutant: text };
    const { values } = parseArgs({ args: [...args], options });
    const { seed, mutant } = values;
    const single = seed !== undefined;
    const from = wholeNumber(seed ?? values.from ?? "1");
    const seeds = single ? 1 : wholeNumber(values.seeds ?? "1000");
    const isKnown = mutant === undefined || mutants.some(({ name }) => name === mutant);
    if (from === undefined || seeds === undefined || !isKnown) return undefined;
    return { from, seeds, single, ...(mutant === undefined ? {} : { mutantName: mutant }) };
  } catch {
    return undefined; // an option that is not there
  }
}

const text = { type: "string" } as const;

function wholeNumber(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

process.exitCode = await main(process.argv.slice(2));
