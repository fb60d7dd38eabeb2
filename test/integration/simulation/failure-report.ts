import { invariants } from "./invariants.ts";
import { settingsOf } from "./settings.ts";
import type { SimulationReport } from "./simulation.ts";

/** A failed run in words: the violation, the settings of the seed, the last trace lines, the command that repeats it. */
export function formatFailure(report: SimulationReport): string {
  const { seed, steps, violation, traceTail } = report;
  if (!violation) throw new Error(`seed ${seed}: expected a violation, got none`);
  const { probabilities, ...settings } = settingsOf(seed);
  const faults = Object.entries(probabilities);
  const drawn = faults.filter(([, probability]) => probability > 0);
  const absent = faults.filter(([, probability]) => probability === 0);
  return [
    `seed ${seed}, step ${steps}: violation of ${violation.invariant} (${invariants[violation.invariant]})`,
    `  ${violation.message}`,
    "settings:",
    ...Object.entries(settings).map(([name, value]) => `  ${name}: ${value}`),
    "fault probabilities:",
    ...drawn.map(([name, probability]) => `  ${name}: ${probability.toFixed(4)}`),
    `  0 for ${absent.map(([name]) => name).join(", ") || "none"}`,
    `the last ${traceTail.length} events, with simulated seconds since the start:`,
    ...traceTail.map((line) => `  ${line}`),
    `repeat: npm run simulate -- --seed ${seed}`,
  ].join("\n");
}
