// Bugs that are put into the sources. A simulation must find each of them.

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

export const plantedBugs: readonly PlantedBug[] = mutants.map((mutant) => {
  return {
    name: mutant.name,
    bug: mutant.bug,
    async find() {
      using mutated = await productsOf(mutant);
      const { failed } = await runSeeds({ from: 1, count: seedsPerBug, products: mutated.products });
      if (!failed) return undefined;
      const { seed, steps, violation } = failed;
      return `seed ${seed}, step ${steps}: ${violation?.invariant}: ${violation?.message}`;
    },
  };
});
