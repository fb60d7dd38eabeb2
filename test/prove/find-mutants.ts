// Every known bug, and how it is found: by the explorer, by a test, by the simulation.

import { explore } from "../explorer/explore.ts";
import { explorerMutants } from "../explorer/explorer-mutants.ts";
import { loadProducts, scopeNamed } from "../explorer/scopes.ts";
import { tell } from "../explorer/story.ts";
import { mutants, productsOf } from "../simulation/mutants.ts";
import { runSeeds } from "../simulation/run-seeds.ts";
import { findingMutants } from "./finding-mutants.ts";
import type { PatchedTests } from "./run-patched-tests.ts";

export interface KnownBug {
  readonly name: string;
  readonly by: string;
  readonly bug: string;
  /** Undefined when it is not found. */
  find(tests: PatchedTests, budgetMs: number): Promise<string | undefined>;
}

export const knownBugs: readonly KnownBug[] = [
  ...explorerMutants.map((mutant): KnownBug => {
    return {
      name: `explorer/${mutant.name}`,
      by: `the explorer, ${mutant.scope}`,
      bug: mutant.bug,
      async find(_, budgetMs) {
        using products = await loadProducts(mutant);
        const { counterexample } = await explore(await products.create(scopeNamed(mutant.scope)), {
          budgetMs,
        });
        return counterexample && tell(counterexample);
      },
    };
  }),
  ...findingMutants.map((mutant): KnownBug => {
    return {
      name: `tests/${mutant.name}`,
      by: mutant.tests[0] ?? "",
      bug: mutant.finding,
      find: (tests) => tests.firstFailure(mutant),
    };
  }),
  ...mutants.map((mutant): KnownBug => {
    return {
      name: `simulation/${mutant.name}`,
      by: "the simulation",
      bug: mutant.bug,
      async find() {
        using mutated = await productsOf(mutant);
        const { failed } = await runSeeds({ from: 1, count: 500, products: mutated.products });
        if (!failed) return undefined;
        const { seed, steps, violation } = failed;
        return `seed ${seed}, step ${steps}: ${violation?.invariant}: ${violation?.message}`;
      },
    };
  }),
];
