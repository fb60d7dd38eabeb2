import {
  type CrashCounts,
  crashPoints,
  type FaultCounts,
  faultKinds,
  noCrashes,
  noFaults,
} from "./faults.ts";
import { runSimulation, type SimulationReport } from "./simulation.ts";
import type { Products } from "./world.ts";

export { runSimulation };

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  readonly products?: Partial<Products> | undefined;
}

export interface Totals {
  seeds: number;
  deliveries: number;
  readonly crashes: CrashCounts;
  readonly faults: FaultCounts;
}

export interface SeedsResult {
  /** The first run with a violation; no seed after it was run. */
  readonly failed: SimulationReport | undefined;
  readonly totals: Totals;
}

export async function runSeeds({ from, count, products }: SeedRange): Promise<SeedsResult> {
  const totals: Totals = { seeds: 0, deliveries: 0, crashes: noCrashes(), faults: noFaults() };
  for (let seed = from; seed < from + count; seed++) {
    const report = await runSimulation({ seed, products });
    totals.seeds += 1;
    totals.deliveries += report.counts.deliveries;
    for (const point of crashPoints) totals.crashes[point] += report.crashes[point];
    for (const kind of faultKinds) totals.faults[kind] += report.faults[kind];
    if (report.violation) return { failed: report, totals };
  }
  return { failed: undefined, totals };
}
