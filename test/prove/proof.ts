// What `npm run prove` has done: a file for each part, in test/prove/results.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PartResult } from "../unit/differential/differential-part.ts";

export const proofParts = ["bugs", "model", "explorer", "seeds", "differential"] as const;
export type ProofPart = (typeof proofParts)[number];

export interface ScopeResult {
  readonly schedules: number;
  readonly states: number;
  readonly ends: number;
  readonly depth: number;
  readonly elapsedMs: number;
  readonly isComplete: boolean;
  readonly violation: string | null;
}

/** A range of seeds; it ends after the first one that fails. */
export interface SeedsResult {
  readonly from: number;
  readonly count: number;
  readonly deliveries: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly failure: string | undefined;
}

export interface ModelResult {
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly elapsedMs: number;
  readonly violation: string | null;
}

/** Transitions of the model that were replayed on an inbox. */
export interface ReplayResult {
  readonly transitions: number;
  readonly covered: number;
  readonly calls: number;
  readonly difference: string | null;
}

/** The results of a run, by part. */
export interface Proof {
  /** The counterexample of each planted bug; `null`: it was not found. */
  readonly bugs: Record<string, string | null>;
  readonly models: Record<string, ModelResult>;
  /** As `bugs`, of the model. */
  readonly modelBugs: Record<string, string | null>;
  readonly replays: Record<string, ReplayResult>;
  readonly explorer: Record<string, ScopeResult>;
  readonly seeds: {
    from: number;
    count: number;
    deliveries: number;
    faults: Record<string, number>;
    failures: string[];
  };
  readonly differential: Record<string, PartResult>;
}

export const createProof = (firstSeed: number): Proof => ({
  ...{ bugs: {}, models: {}, modelBugs: {}, replays: {}, explorer: {}, differential: {} },
  seeds: { from: firstSeed, count: 0, deliveries: 0, faults: {}, failures: [] },
});

/** Seeds are counted from the first one, so a range that failed ends the count. */
export function addSeeds({ seeds }: Proof, result: SeedsResult): void {
  seeds.count += result.count;
  seeds.deliveries += result.deliveries;
  for (const [kind, times] of Object.entries(result.faults))
    seeds.faults[kind] = (seeds.faults[kind] ?? 0) + times;
  if (result.failure !== undefined) seeds.failures.push(result.failure);
}

/** Nothing was violated, each planted bug was found, and nothing differed. */
export function isProved({ bugs, models, modelBugs, replays, explorer, seeds, differential }: Proof) {
  const areFound = [...Object.values(bugs), ...Object.values(modelBugs)].every((found) => found !== null);
  const areSound = [...Object.values(models), ...Object.values(explorer)].every(
    ({ violation }) => violation === null,
  );
  const areEqual =
    Object.values(replays).every(({ difference }) => difference === null) &&
    Object.values(differential).every(({ failure }) => failure === undefined);
  return areFound && areSound && areEqual && seeds.failures.length === 0;
}

/** A line for each part that ran. */
export function summarize(proof: Proof): string {
  const { bugs, models, modelBugs, replays, explorer, seeds, differential } = proof;
  const all = [...Object.values(bugs), ...Object.values(modelBugs)];
  const found = all.filter((counterexample) => counterexample !== null).length;
  const scopes = Object.values(explorer);
  const complete = scopes.filter(({ isComplete }) => isComplete).length;
  const states = scopes.reduce((sum, scope) => sum + scope.states, 0);
  const calls = Object.values(replays).reduce((sum, replay) => sum + replay.calls, 0);
  const checks = Object.keys(models).length;
  return [
    all.length > 0 ? `planted bugs: ${found} of ${all.length} found` : "",
    checks > 0 ? `model: ${checks} checks, ${calls} calls replayed` : "",
    scopes.length > 0 ? `explorer: ${complete} of ${scopes.length} scopes complete, ${states} states` : "",
    seeds.count > 0 ? `simulation: ${seeds.count} seeds, ${seeds.failures.length} failed` : "",
    ...Object.entries(differential).map(([name, { count }]) => `differential, ${name}: ${count} cases`),
    isProved(proof) ? "nothing was violated" : "FAILED: see above",
  ]
    .filter(Boolean)
    .join("\n");
}

/** Writes the parts that ran to a folder, with the commit and the day. */
export function recordProof(proof: Proof, parts: readonly ProofPart[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  const { bugs, models, modelBugs, replays, explorer, seeds, differential } = proof;
  const results = { bugs, model: { models, bugs: modelBugs, replays }, explorer, seeds, differential };
  const git = (...words: string[]) => execFileSync("git", words, { encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", "sdk", "mock-server", "receiver-kit", "test") !== "";
  const commit = `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`;
  const origin = { commit, date: new Date().toISOString().slice(0, 10) };
  for (const part of parts) {
    const text = JSON.stringify({ ...origin, results: results[part] }, null, 2);
    writeFileSync(join(folder, `${part}.json`), `${text}\n`);
  }
}
