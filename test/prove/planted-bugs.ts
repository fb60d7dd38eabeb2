// Bugs that are put into the sources. The explorer or a simulation must find each of them.

import { explore } from "../integration/explorer/explore.ts";
import { explorerMutants } from "../integration/explorer/explorer-mutants.ts";
import { loadProducts, scopeNamed } from "../integration/explorer/scopes.ts";
import { tell } from "../integration/explorer/story.ts";
import { mutants, productsOf } from "../integration/simulation/mutants.ts";
import { runSeeds } from "../integration/simulation/run-seeds.ts";

export interface PlantedBug {
  readonly name: string;
  readonly bug: string;
  /** The counterexample; undefined when the bug is not found. */
  find(): Promise<string | undefined>;
}

/** As many as `npm test` takes at full depth. */
const seedsPerBug = 250;

export const plantedBugs: readonly PlantedBug[] = [
  ...explorerMutants.map((mutant): PlantedBug => {
    return {
      name: `explorer/${mutant.name}`,
      bug: mutant.bug,
      async find() {
        using products = await loadProducts(mutant);
        const { counterexample } = await explore(products.create(scopeNamed(mutant.scope)));
        return counterexample && tell(counterexample);
      },
    };
  }),
  ...mutants.map((mutant): PlantedBug => {
    return {
      name: `simulation/${mutant.name}`,
      bug: mutant.bug,
      async find() {
        using mutated = await productsOf(mutant);
        const { failed } = await runSeeds({ from: 1, count: seedsPerBug, products: mutated.products });
        if (!failed) return undefined;
        const { seed, steps, violation } = failed;
        return `seed ${seed}, step ${steps}: ${violation?.invariant}: ${violation?.message}`;
      },
    };
  }),
];
