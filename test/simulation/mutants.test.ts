import { expect, it } from "vitest";
import { mutants, productsOf } from "./mutants.ts";
import { importPatched } from "./patched-product.ts";
import { runSeeds } from "./run-seeds.ts";

// The first of the seeds in which the unchanged products violate nothing.
const count = 125;

it.each(mutants)(
  "the simulation detects the mutant $name: $bug",
  async (mutant) => {
    using mutated = await productsOf(mutant);
    const { failed } = await runSeeds({ from: 1, count, products: mutated.products });
    expect(failed, `not detected in ${count} seeds`).toBeDefined();
    expect(mutant.violates).toContain(failed?.violation?.invariant);
  },
  120_000,
);

it("a mutant that no longer matches the sources names itself, the most similar line and the file to change", async () => {
  const outdated = { name: "outdated", patches: [{ find: "if (ageSeconds >= tolerance) {", replace: "" }] };
  await expect(importPatched("receiver-kit", outdated)).rejects.toThrow(
    /^mutant outdated does not match .*, found it nowhere\n.*\n.* receiver-kit\/\S+:\d+: if \(ageSeconds.*\n.* test\/simulation\/mutants\.ts/,
  );
});
