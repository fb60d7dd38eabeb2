import type { Counterexample, Exploration } from "./explore.ts";

/** What was explored, in one line. */
export function summary({
  scope,
  schedules,
  states,
  ends,
  depth,
  elapsedMs,
  isComplete,
}: Exploration): string {
  const seconds = (elapsedMs / 1_000).toFixed(1);
  const all = isComplete ? "all of them" : "not all of them";
  return `${scope}: ${schedules} schedules, ${states} states, ${all}, ${ends} ends, depth ${depth}, ${seconds} s`;
}

/** A counterexample as a numbered story. */
export function tell({ violation, story }: Counterexample): string {
  const steps = story.map((step, index) => `  ${index + 1}. ${step}`);
  return [...steps, `  → ${violation}`].join("\n");
}
