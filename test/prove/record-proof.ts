import { readFileSync, writeFileSync } from "node:fs";
import type { MutantResult, ProofState } from "./proof-state.ts";

const ends = "<!-- end of the results -->";

/** Replaces the results in the document; those of parts that did not run stay. */
export function recordProof(path: string, state: ProofState): void {
  const { mutants, scopes, models, seeds, differential } = state;
  const hasRun = Object.keys({ ...mutants, ...scopes }).length + seeds.count > 0;
  if (hasRun) replaceRegion(path, "<!-- results of npm run prove -->", resultsOf(state));
  const ofModel = "<!-- results of npm run prove -- --only model -->";
  if (Object.keys(models).length > 0) replaceRegion(path, ofModel, modelResults(state));
  const begins = "<!-- results of npm run prove -- --only differential -->";
  if (Object.keys(differential).length > 0) replaceRegion(path, begins, differentialResults(state));
}

/** Replaces what is between a mark and the end of the results. */
export function replaceRegion(path: string, begins: string, results: string): void {
  const text = readFileSync(path, "utf8");
  const start = text.indexOf(begins);
  const end = text.indexOf(ends, start);
  if (start < 0 || end < 0) throw new Error(`${path}: expected ${begins} and ${ends}`);
  const [before, after] = [text.slice(0, start), text.slice(end)];
  writeFileSync(path, `${before}${begins}\n\n${results}\n\n${after}`);
}

function differentialResults({ commit, startedAt, differential }: ProofState): string {
  return [
    `Commit ${commit}, begun ${startedAt.slice(0, 10)}.`,
    "",
    "| comparison | cases | result | |",
    "|---|---:|---|---|",
    ...Object.entries(differential).map(([name, { count, failure, counts }]) => {
      const known = Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1));
      const listed = known.map(([what, times]) => `${what}: ${times}`).join("<br>");
      return `| ${name} | ${count} | ${failure === undefined ? "as listed" : cell(failure)} | ${cell(listed)} |`;
    }),
  ].join("\n");
}

function modelResults({ commit, startedAt, models, modelMutants, replays }: ProofState): string {
  return [
    `Commit ${commit}, begun ${startedAt.slice(0, 10)}.`,
    "",
    "| model of | states | transitions | longest | seconds | |",
    "|---|---:|---:|---:|---:|---|",
    ...Object.entries(models).map(([name, { states, transitions, depth, elapsedMs, violation }]) => {
      const seconds = (elapsedMs / 1_000).toFixed(1);
      return `| ${name} | ${states} | ${transitions} | ${depth} | ${seconds} | ${violation ?? "complete"} |`;
    }),
    "",
    "| replayed on | transitions | replayed | calls | |",
    "|---|---:|---:|---:|---|",
    ...Object.entries(replays).map(([name, { transitions, covered, calls, difference }]) => {
      const result = difference === null ? "no difference" : "a difference";
      return `| ${name} | ${transitions} | ${covered} | ${calls} | ${result} |`;
    }),
    "",
    "| mutant of the model | refuted by | counterexample |",
    "|---|---|---|",
    ...Object.values(modelMutants).map(mutantLine),
  ].join("\n");
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
    ...Object.values(mutants).map(mutantLine),
  ].join("\n");
}

const mutantLine = ({ bug, by, counterexample }: MutantResult) =>
  `| ${cell(bug)} | ${cell(by)} | ${cell(counterexample ?? "not found")} |`;

/** One line, without what Markdown reads as the end of a cell. */
const cell = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("<br>")
    .replaceAll("|", "\\|");
