// Reduces a run that violates an invariant to one that still violates the same invariant and from which nothing more can
// be left out: kinds of faults, processes and clients, steps, single faults. Delta debugging (ddmin) over each of them.

import type { Fault } from "./faults.ts";
import type { Invariant } from "./invariants.ts";
import { nothingReduced, type Reduction } from "./reduction.ts";
import type { SimulationSettings } from "./settings.ts";
import { settingsOf } from "./settings.ts";
import { runSimulation, type SimulationReport } from "./simulation.ts";
import type { Products } from "./world.ts";

export interface Shrunk {
  readonly reduction: Reduction;
  readonly report: SimulationReport;
  /** Runs that it took. */
  readonly runs: number;
  readonly before: Size;
  readonly after: Size;
}

export interface Size {
  /** Steps that do something. */
  readonly steps: number;
  readonly faultKinds: number;
  readonly faults: number;
}

/** Enough for the whole of a reduced run. */
const traceLines = 500;

/** Simpler values of settings, tried one by one. */
const simpler: readonly Partial<SimulationSettings>[] = [
  { sdkProcesses: 1 },
  { receiverProcesses: 1 },
  { latencyMs: 0 },
  { otherClient: false },
  { sdkRestarts: false },
  { tenants: false },
  { storeClockIsSet: false },
  { wrongTimes: false },
  { keyLeftMs: 40 * 86_400_000 },
];

export async function shrink(
  seed: number,
  products: Partial<Products> | undefined,
  runsMax = Number.POSITIVE_INFINITY,
): Promise<Shrunk | undefined> {
  let runs = 0;
  const run = (reduction: Reduction) => {
    runs += 1;
    return runSimulation({ seed, products, reduction, traceLines });
  };
  let report = await run(nothingReduced);
  const invariant = report.violation?.invariant;
  if (!invariant) return undefined;
  const before = sizeOf(report, nothingReduced);
  let reduction = nothingReduced;
  /** Keeps a reduction that still fails in the same way. */
  const accepts = async (candidate: Reduction): Promise<boolean> => {
    if (runs >= runsMax) return false;
    const tried = await run(candidate);
    if (!failsLike(tried, invariant)) return false;
    // With a fault less, it may fail later.
    if (weight(tried, candidate) > weight(report, reduction)) return false;
    reduction = candidate;
    report = tried;
    return true;
  };
  for (let size = -1; size !== weight(report, reduction); ) {
    size = weight(report, reduction);
    for (const settings of simpler) {
      await accepts({ ...reduction, settings: { ...reduction.settings, ...settings } });
    }
    const kinds = Object.entries(settingsOf(seed).probabilities)
      .filter(([fault, probability]) => probability > 0 && !reduction.faults.has(fault as Fault))
      .map(([fault]) => fault as Fault);
    await minimise(kinds, (left) => {
      const without = kinds.filter((kind) => !left.includes(kind));
      return accepts({ ...reduction, faults: new Set([...reduction.faults, ...without]) });
    });
    const steps = range(report.steps).filter((step) => !reduction.steps.has(step));
    await minimise(steps, (left) => {
      const without = steps.filter((step) => !left.includes(step));
      return accepts({ ...reduction, steps: new Set([...reduction.steps, ...without]) });
    });
    const occurred = report.occurred;
    await minimise(occurred, (left) => {
      const without = occurred.filter((each) => !left.includes(each));
      return accepts({ ...reduction, occurrences: new Set([...reduction.occurrences, ...without]) });
    });
  }
  return { reduction, report, runs, before, after: sizeOf(report, reduction) };
}

/** Finds a part of `items` that `fails` and of which no single item can be left out. */
async function minimise<Item>(
  items: readonly Item[],
  fails: (left: readonly Item[]) => Promise<boolean>,
): Promise<void> {
  let left = items;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length; ) {
      const without = [...left.slice(0, from), ...left.slice(from + size)];
      if (await fails(without)) left = without;
      else from += size;
    }
  }
}

const failsLike = ({ violation }: SimulationReport, invariant: Invariant) =>
  violation?.invariant === invariant;

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

function sizeOf({ steps, occurred, seed }: SimulationReport, reduction: Reduction): Size {
  const probabilities = Object.entries(settingsOf(seed).probabilities);
  return {
    steps: range(steps).filter((step) => !reduction.steps.has(step)).length,
    faultKinds: probabilities.filter(([fault, value]) => value > 0 && !reduction.faults.has(fault as Fault))
      .length,
    faults: occurred.length,
  };
}

function weight(report: SimulationReport, reduction: Reduction): number {
  const { steps, faultKinds, faults } = sizeOf(report, reduction);
  return steps + faultKinds + faults + simpler.length - Object.keys(reduction.settings).length;
}

/** The reduced run in words. */
export function tellShrunk({ report, before, after, runs }: Shrunk): string {
  const { seed, violation, traceTail } = report;
  const sizes = ({ steps, faultKinds, faults }: Size) =>
    `${steps} steps, ${faultKinds} kinds of faults, ${faults} faults`;
  return [
    `seed ${seed}: violation of ${violation?.invariant}`,
    `reduced in ${runs} runs from ${sizes(before)}`,
    `                    to ${sizes(after)}`,
    ...traceTail.map((line) => `  ${line}`),
  ].join("\n");
}

/** A test file that repeats the reduced run, and passes when the fault is fixed. */
export function testOf({ report, reduction }: Shrunk): string {
  const { seed, violation } = report;
  const list = (items: Iterable<unknown>) => JSON.stringify([...items]);
  return `import { expect, it } from "vitest";
import { formatFailure } from "./failure-report.ts";
import { runSimulation } from "./simulation.ts";

it("the reduced run of seed ${seed} violates no invariant, as ${violation?.invariant} once", async () => {
  const reduction = {
    steps: new Set(${list(reduction.steps)}),
    faults: new Set(${list(reduction.faults)} as const),
    occurrences: new Set(${list(reduction.occurrences)}),
    settings: ${JSON.stringify(reduction.settings)},
  };
  const report = await runSimulation({ seed: ${seed}, reduction });
  if (report.violation) expect.fail(formatFailure(report));
});
`;
}
