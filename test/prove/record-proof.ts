import { readFileSync, writeFileSync } from "node:fs";
import type { ProofState } from "./proof-state.ts";

const begins = "<!-- results of npm run prove -->";
const ends = "<!-- end of the results -->";

/** Replaces the results in the document. */
export function recordProof(path: string, state: ProofState): void {
  const text = readFileSync(path, "utf8");
  const [before, rest] = text.split(begins);
  const after = rest?.split(ends)[1];
  if (before === undefined || after === undefined) throw new Error(`${path}: expected ${begins} and ${ends}`);
  writeFileSync(path, `${before}${begins}\n\n${resultsOf(state)}\n\n${ends}${after}`);
}

function resultsOf({ commit, startedAt, mutants, scopes, seeds }: ProofState): string {
  const found = Object.values(mutants).filter(({ counterexample }) => counterexample !== null);
  const kinds = Object.values(seeds.faults);
  const faults = kinds.reduce((sum, count) => sum + count, 0);
  const injected = faults === 0 ? "" : `${faults} faults of ${kinds.filter(Boolean).length} kinds; `;
  return [
    `Commit ${commit}, begun ${startedAt.slice(0, 10)}.`,
    `Simulation: ${seeds.count} seeds, ${seeds.deliveries} deliveries, ${injected}${seeds.failure === undefined ? "no invariant was violated" : "an invariant was violated"}.`,
    `Known bugs: ${found.length} of ${Object.keys(mutants).length} found.`,
    "",
    "| scope | schedules | states | longest | seconds | |",
    "|---|---:|---:|---:|---:|---|",
    ...Object.entries(scopes).map(([name, scope]) => {
      const { schedules, states, depth, elapsedMs, isComplete, violation } = scope;
      const result = violation !== null ? "violated" : isComplete ? "complete" : "not complete, no violation";
      return `| ${name} | ${schedules} | ${states} | ${depth} | ${Math.round(elapsedMs / 1_000)} | ${result} |`;
    }),
    "",
    "| known bug | found by | shortest counterexample |",
    "|---|---|---|",
    ...Object.values(mutants).map(({ bug, by, counterexample }) => {
      return `| ${cell(bug)} | ${cell(by)} | ${cell(counterexample ?? "not found")} |`;
    }),
  ].join("\n");
}

/** One line, without what Markdown reads as the end of a cell. */
const cell = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("<br>")
    .replaceAll("|", "\\|");
