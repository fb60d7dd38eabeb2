// A process of `npm run prove`: runs one task after the other, as it is told.

import { writeFileSync } from "node:fs";
import { compareNext } from "../differential/compare-next.ts";
import type { PartResult } from "../differential/differential-part.ts";
import { explore, type SavedExploration } from "../explorer/explore.ts";
import { loadProducts, scopeNamed } from "../explorer/scopes.ts";
import { summary, tell } from "../explorer/story.ts";
import { formatFailure } from "../simulation/failure-report.ts";
import { loadSimulation } from "../simulation/load-simulation.ts";
import { knownBugs } from "./find-mutants.ts";
import { readJson, type ScopeResult, type SeedSpan } from "./proof-state.ts";
import { PatchedTests } from "./run-patched-tests.ts";

export type ProofTask =
  | { readonly kind: "mutant"; readonly name: string; readonly budgetMs: number }
  | { readonly kind: "seeds"; readonly span: SeedSpan }
  | {
      readonly kind: "scope";
      readonly name: string;
      /** Where an exploration that is not complete is kept. */
      readonly path: string;
      readonly resumes: boolean;
      readonly budgetMs: number;
    }
  | {
      readonly kind: "differential";
      readonly results: Record<string, PartResult>;
      readonly budgetMs: number;
    };

export interface ProofTaskResults {
  readonly mutant: string | undefined;
  readonly seeds: SeedsOutcome;
  readonly scope: ScopeResult;
  readonly differential: { readonly results: Record<string, PartResult>; readonly mayContinue: boolean };
}

export interface SeedsOutcome {
  /** It ends after the first seed that fails. */
  readonly span: SeedSpan;
  readonly deliveries: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly failure: string | undefined;
}

type Runs = {
  readonly [Kind in ProofTask["kind"]]: (
    task: Extract<ProofTask, { kind: Kind }>,
  ) => Promise<ProofTaskResults[Kind]>;
};

const print = (text: string) => void process.stdout.write(`${text}\n`);

const simulation = once(async () => {
  using loaded = await loadSimulation();
  return loaded.module;
});
const tests = new PatchedTests();

const runs: Runs = {
  async mutant({ name, budgetMs }) {
    const known = knownBugs.find((each) => each.name === name);
    const counterexample = await known?.find(tests, budgetMs);
    print(
      `${counterexample === undefined ? "NOT FOUND" : "found"}: ${name} (${known?.bug}), by ${known?.by}`,
    );
    if (counterexample !== undefined) print(counterexample.replaceAll(/^/gm, "    "));
    return counterexample;
  },
  async seeds({ span: { from, to } }) {
    const { runSeeds } = await simulation();
    const { failed, totals } = await runSeeds({ from, count: to - from });
    const failure = failed && formatFailure(failed);
    if (failure !== undefined) print(failure);
    const { deliveries, faults } = totals;
    return { span: { from, to: from + totals.seeds }, deliveries, faults, failure };
  },
  async scope({ name, path, resumes, budgetMs }) {
    using products = await loadProducts();
    const resume = resumes ? (readJson(path) as SavedExploration | undefined) : undefined;
    const exploration = await explore(await products.create(scopeNamed(name)), { budgetMs, resume });
    const { counterexample, saved } = exploration;
    const violation = counterexample ? tell(counterexample) : null;
    writeFileSync(path, JSON.stringify(saved ?? null));
    print(summary(exploration));
    if (violation !== null) print(violation);
    const { schedules, states, ends, depth, elapsedMs, isComplete } = exploration;
    return { schedules, states, ends, depth, elapsedMs, isComplete, violation };
  },
  async differential({ results, budgetMs }) {
    const mayContinue = await compareNext(results, budgetMs, print);
    return { results, mayContinue };
  },
};

function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}

// To capture the stacks of all errors takes a tenth of the time of a seed. Tests may look at them.
const withoutStacks = new Set<ProofTask["kind"]>(["seeds", "scope"]);
const { stackTraceLimit } = Error;

process.on("message", (task: ProofTask) => {
  Error.stackTraceLimit = withoutStacks.has(task.kind) ? 0 : stackTraceLimit;
  const run = runs[task.kind] as (task: ProofTask) => Promise<unknown>;
  run(task).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => void tests[Symbol.asyncDispose]().finally(() => process.exit()));
