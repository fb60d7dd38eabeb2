// A process of `npm run prove`: runs one task after the other, as it is told.

import { explore } from "../integration/explorer/explore.ts";
import { loadProducts, scopeNamed } from "../integration/explorer/scopes.ts";
import { summary, tell } from "../integration/explorer/story.ts";
import { formatFailure } from "../integration/simulation/failure-report.ts";
import { loadSimulation } from "../integration/simulation/load-simulation.ts";
import { compareNext } from "../unit/differential/compare-next.ts";
import type { PartResult } from "../unit/differential/differential-part.ts";
import { plantedBugs } from "./planted-bugs.ts";
import type { ScopeResult, SeedsResult } from "./proof.ts";

export type ProofTask =
  | { readonly kind: "bug"; readonly name: string }
  | { readonly kind: "seeds"; readonly from: number; readonly count: number }
  | { readonly kind: "scope"; readonly name: string; readonly budgetMs: number }
  | {
      readonly kind: "differential";
      readonly results: Record<string, PartResult>;
      readonly budgetMs: number;
    };

export interface ProofTaskResults {
  /** The counterexample; undefined when the bug was not found. */
  readonly bug: string | undefined;
  readonly seeds: SeedsResult;
  readonly scope: ScopeResult;
  readonly differential: { readonly results: Record<string, PartResult>; readonly mayContinue: boolean };
}

type Runs = {
  readonly [Kind in ProofTask["kind"]]: (
    task: Extract<ProofTask, { kind: Kind }>,
  ) => Promise<ProofTaskResults[Kind]>;
};

const print = (text: string) => void process.stdout.write(`${text}\n`);

let loading: ReturnType<typeof loadSimulation> | undefined;

const runs: Runs = {
  async bug({ name }) {
    const planted = plantedBugs.find((each) => each.name === name);
    const counterexample = await planted?.find();
    print(`${counterexample === undefined ? "NOT FOUND" : "found"}: ${name} (${planted?.bug})`);
    if (counterexample !== undefined) print(counterexample.replaceAll(/^/gm, "    "));
    return counterexample;
  },
  async seeds({ from, count }) {
    loading ??= loadSimulation();
    const { runSeeds } = (await loading).module;
    const { failed, totals } = await runSeeds({ from, count });
    const failure = failed && formatFailure(failed);
    if (failure !== undefined) print(failure);
    return { from, count: totals.seeds, deliveries: totals.deliveries, faults: totals.faults, failure };
  },
  async scope({ name, budgetMs }) {
    using products = await loadProducts();
    const exploration = await explore(await products.create(scopeNamed(name)), { budgetMs });
    const violation = exploration.counterexample ? tell(exploration.counterexample) : null;
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

// To capture the stacks of all errors takes a tenth of the time of a seed. Bugs may need them.
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
process.on("disconnect", () => process.exit());
