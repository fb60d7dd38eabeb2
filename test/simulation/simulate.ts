// `npm run simulate -- --seeds 100000`: runs one simulation per seed until one fails or all have passed.

import { parseArgs } from "node:util";
import { crashPoints } from "./crash-points.ts";
import { formatFailure } from "./failure-report.ts";
import { loadSimulation } from "./load-simulation.ts";
import { mutants, productsOf } from "./mutants.ts";
import type { SeedRange, Totals } from "./run-seeds.ts";

const usage = `usage: npm run simulate -- [--seeds 1000] [--from 1] [--seed N] [--mutant NAME] [--shrink]

  --seeds N      number of seeds to run. Default: 1000
  --from N       the first seed. Default: 1
  --seed N       run only this seed, and print the end of its trace
  --shrink       reduce a run that fails to its shortest form; print it as a story and as a test to keep
  --mutant NAME  run with a known bug: ${mutants.map(({ name }) => name).join(", ")}
`;

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (options === undefined) {
    process.stderr.write(usage);
    return 2;
  }
  const mutant = mutants.find(({ name }) => name === options.mutant);
  using mutated = mutant && (await productsOf(mutant));
  using simulation = await loadSimulation();
  const { runSeeds, shrink, tellShrunk, testOf } = simulation.module;
  // To capture the stacks of all errors takes a tenth of the time.
  if (options.count > 1) Error.stackTraceLimit = 0;
  const progress = createProgress(options.count);
  const { failed, totals } = await runSeeds({ ...options, products: mutated?.products }, (report, soFar) => {
    progress.show(soFar);
    if (options.single && !report.violation) process.stdout.write(`${report.traceTail.join("\n")}\n`);
  });
  progress.end();
  const result = failed
    ? formatFailure(failed, options.mutant)
    : `${summary(totals)}; no invariant was violated`;
  process.stdout.write(`${result}\n`);
  if (failed && options.shrinks) {
    const shrunk = await shrink(failed.seed, mutated?.products);
    if (shrunk) process.stdout.write(`\n${tellShrunk(shrunk)}\n\n${testOf(shrunk)}`);
  }
  return failed ? 1 : 0;
}

/** On a terminal one line, overwritten; elsewhere a line per twentieth. */
function createProgress(count: number) {
  const isTerminal = process.stderr.isTTY === true;
  const every = isTerminal ? 10 : Math.max(1, Math.ceil(count / 20));
  let shown = false;
  return {
    show(totals: Totals) {
      if (totals.seeds % every !== 0 || totals.seeds === count) return;
      shown = true;
      const text = `${totals.seeds} of ${count}: ${summary(totals)}`;
      process.stderr.write(isTerminal ? `\r\x1b[2K${text}` : `${text}\n`);
    },
    end() {
      if (shown && isTerminal) process.stderr.write("\r\x1b[2K");
    },
  };
}

function summary({ seeds, deliveries, crashes }: Totals): string {
  const total = crashPoints.reduce((sum, point) => sum + crashes[point], 0);
  return `${seeds} seed${seeds === 1 ? "" : "s"}, ${deliveries} deliveries, ${total} crashes and pauses`;
}

type Options = SeedRange & {
  readonly single: boolean;
  readonly mutant: string | undefined;
  readonly shrinks: boolean;
};

function readArguments(args: readonly string[]): Options | undefined {
  try {
    const options = { seeds: string, from: string, seed: string, mutant: string, shrink: boolean };
    const {
      seed,
      mutant,
      shrink: shrinks = false,
      ...values
    } = parseArgs({ args: [...args], options }).values;
    const from = wholeNumber(seed ?? values.from ?? "1");
    const count = seed === undefined ? wholeNumber(values.seeds ?? "1000") : 1;
    const isKnown = mutant === undefined || mutants.some(({ name }) => name === mutant);
    if (from === undefined || count === undefined || !isKnown) return undefined;
    return { from, count, single: seed !== undefined, mutant, shrinks };
  } catch {
    return undefined; // an unknown option
  }
}

const string = { type: "string" } as const;
const boolean = { type: "boolean" } as const;

function wholeNumber(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

process.exitCode = await main(process.argv.slice(2));
