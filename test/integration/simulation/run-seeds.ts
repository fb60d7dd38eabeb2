import { type Meetings, meetable } from "./faults.ts";
import { runSimulation, type SimulationReport } from "./simulation.ts";
import type { Products } from "./world.ts";

export { runSimulation };

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  readonly products?: Partial<Products> | undefined;
}

export interface Totals {
  deliveries: number;
  readonly met: Meetings;
}

export interface SeedsResult {
  /** The first run with a violation; no seed after it was run. */
  readonly failed: SimulationReport | undefined;
  readonly totals: Totals;
}

export async function runSeeds({ from, count, products }: SeedRange): Promise<SeedsResult> {
  const totals: Totals = { deliveries: 0, met: {} };
  for (let seed = from; seed < from + count; seed++) {
    const report = await runSimulation({ seed, products });
    totals.deliveries += report.counts.deliveries;
    for (const what of meetable) totals.met[what] = (totals.met[what] ?? 0) + (report.met[what] ?? 0);
    if (report.violation) return { failed: report, totals };
  }
  return { failed: undefined, totals };
}
