import { invariants } from "./invariants.ts";
import type { SimulationReport } from "./simulation.ts";

/** What a failing run says: where, what, what led there, and the command that brings it back. */
export function reportFailure(
  { seed, steps, violation, traceTail }: SimulationReport,
  mutantName?: string,
): string {
  if (!violation) throw new Error(`seed ${seed}: expected a violation, got none`);
  const { invariant, message } = violation;
  return [
    `seed ${seed}, step ${steps}: ${invariant}, ${invariants[invariant]}`,
    `  ${message}`,
    "what led there:",
    ...traceTail.map((line) => `  ${line}`),
    `replay: ${replayCommand(seed, mutantName)}`,
  ].join("\n");
}

export const replayCommand = (seed: number, mutantName?: string): string =>
  `npm run simulate -- --seed ${seed}${mutantName === undefined ? "" : ` --mutant ${mutantName}`}`;
