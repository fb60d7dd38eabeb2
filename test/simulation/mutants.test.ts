import { expect, test } from "vitest";
import { mutants, productsOf } from "./mutants.ts";
import type { Products } from "./scene.ts";
import { runSimulation, type SimulationReport } from "./simulation.ts";

// The same seeds as in the tests of the products as they are, where nothing is found.
const seedsMax = 125;

async function firstFailure(products: Partial<Products>): Promise<SimulationReport | undefined> {
  for (let seed = 1; seed <= seedsMax; seed++) {
    const report = await runSimulation({ seed, products });
    if (report.violation) return report;
  }
  return undefined;
}

test.each(mutants)(
  "$name is found: $flaw",
  async (mutant) => {
    using broken = await productsOf(mutant);
    const failed = await firstFailure(broken.products);
    expect(failed, `not found in ${seedsMax} seeds`).toBeDefined();
    expect(mutant.violates).toContain(failed?.violation?.invariant);
  },
  60_000,
);
