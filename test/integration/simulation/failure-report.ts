import { invariants } from "./invariants.ts";
import { settingsOf } from "./settings.ts";
import type { SimulationReport } from "./simulation.ts";

/** A failed run in words: the violation, the settings of the seed, the last trace lines, the command that repeats it. */
export function formatFailure(report: SimulationReport): string {
  const { seed, steps, violation, traceTail } = report;
  if (!violation) throw new Error(`seed ${seed}: expected a violation, got none`);
  return [
    `seed ${seed}, step ${steps}: violation of ${violation.invariant} (${invariants[violation.invariant]})`,
    `  ${violation.message}`,
    `settings: ${JSON.stringify(settingsOf(seed), null, 2)}`,
    `the last ${traceTail.length} events, with simulated seconds since the start:`,
    ...traceTail.map((line) => `  ${line}`),
    `repeat: npm run simulate -- --seed ${seed}`,
  ].join("\n");
}
