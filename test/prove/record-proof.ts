import { readFileSync, writeFileSync } from "node:fs";
import type { ProofPart } from "./proof-inputs.ts";
import { type MutantResult, type ProofState, recordState, seedCount } from "./proof-state.ts";

const ends = "<!-- end of the results -->";

/** Replaces the results in the document and in the repository; those of parts that did not run stay. */
export function recordProof(path: string, state: ProofState): void {
  const record = (part: ProofPart, hasRun: boolean, results: (state: ProofState) => readonly string[]) => {
    const begins = `<!-- results of npm run prove -- --only ${part} -->`;
    const { commit, hash, startedAt, continuedAt } = state.origins[part];
    const days = [...new Set([startedAt.slice(0, 10), continuedAt.slice(0, 10)])].join(" to ");
    const lines = [`Sources ${hash}, commit ${commit}, ${days}.`, ...results(state)];
    if (!hasRun) return;
    replaceRegion(path, begins, lines.join("\n"));
    recordState(state, part);
  };
  const isFilled = (results: object) => Object.keys(results).length > 0;
  record("seeds", state.seeds.spans.length > 0, seedResults);
  record("explorer", isFilled(state.scopes), scopeResults);
  record("mutants", isFilled(state.mutants), mutantResults);
  record("model", isFilled(state.models), modelResults);
  record("differential", isFilled(state.differential), differentialResults);
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

function differentialResults({ differential }: ProofState): readonly string[] {
  return [
    "",
    "| comparison | cases | result | |",
    "|---|---:|---|---|",
    ...Object.entries(differential).map(([name, { count, failure, counts }]) => {
      const known = Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1));
      const listed = known.map(([what, times]) => `${what}: ${times}`).join("<br>");
      return `| ${name} | ${count} | ${failure === undefined ? "as listed" : cell(failure)} | ${cell(listed)} |`;
    }),
  ];
}

function modelResults({ models, modelMutants, replays }: ProofState): readonly string[] {
  return [
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
  ];
}

function seedResults({ seeds }: ProofState): readonly string[] {
  const { spans, deliveries, faults, failures } = seeds;
  const kinds = Object.values(faults);
  const injected = kinds.reduce((sum, times) => sum + times, 0);
  const failed = failures.map(({ seed }) => seed);
  const violated =
    failed.length === 0 ? "No invariant was violated." : `An invariant was violated by ${failed.join(", ")}.`;
  const ran = spans.map(({ from, to }) => `${from} to ${to - 1}`).join(", ");
  return [
    `Seeds ${ran}: ${seedCount(seeds)} runs with ${deliveries} deliveries and ${injected} faults of ${kinds.filter(Boolean).length} kinds.`,
    violated,
  ];
}

function scopeResults({ scopes }: ProofState): readonly string[] {
  return [
    "",
    "| scope | schedules | states | longest | seconds | |",
    "|---|---:|---:|---:|---:|---|",
    ...Object.entries(scopes).map(([name, scope]) => {
      const { schedules, states, depth, elapsedMs, isComplete, violation } = scope;
      const result = violation !== null ? "violated" : isComplete ? "complete" : "not complete, no violation";
      return `| ${name} | ${schedules} | ${states} | ${depth} | ${Math.round(elapsedMs / 1_000)} | ${result} |`;
    }),
  ];
}

function mutantResults({ mutants }: ProofState): readonly string[] {
  const found = Object.values(mutants).filter(({ counterexample }) => counterexample !== null);
  return [
    `Found: ${found.length} of ${Object.keys(mutants).length}.`,
    "",
    "| known bug | found by | shortest counterexample |",
    "|---|---|---|",
    ...Object.values(mutants).map(mutantLine),
  ];
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
