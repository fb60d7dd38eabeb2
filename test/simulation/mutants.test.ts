import { afterAll, beforeAll, expect, it } from "vitest";
import { atDepth } from "../support/depth.ts";
import type { Bundle } from "./import-bundle.ts";
import { loadSimulation } from "./load-simulation.ts";
import { mutants, productsOf } from "./mutants.ts";
import { importPatched } from "./patched-product.ts";
import type * as Parts from "./simulation-parts.ts";

// Seeds in which the unchanged products violate nothing: seeds.test.ts.
const count = atDepth(125, 500);

let simulation: Bundle<typeof Parts>;
beforeAll(async () => {
  simulation = await loadSimulation();
});
afterAll(() => simulation[Symbol.dispose]());

// They are detected after several seconds: by a gate of `npm run check`, and by `npm run prove`.
const slow = [
  ...[
    "api-times-trusted",
    "leases-by-the-clock",
    "tenant-of-the-last-request",
    "slot-released-early",
    "ids-of-all-tenants",
  ],
  ...["verify-decoded-text", "retry-unknown-mutation", "due-in-the-future", "one-request-too-many"],
];

it("the slow mutants exist", () => {
  expect(slow.filter((name) => !mutants.some((mutant) => mutant.name === name))).toEqual([]);
});

it.each(mutants.filter(({ name }) => atDepth(!slow.includes(name), true)))(
  "the simulation detects the mutant $name: $bug",
  async (mutant) => {
    using mutated = await productsOf(mutant);
    const { failed } = await simulation.module.runSeeds({ from: 1, count, products: mutated.products });
    expect(failed, `not detected in ${count} seeds`).toBeDefined();
    expect(mutant.violates).toContain(failed?.violation?.invariant);
  },
  600_000,
);

it("a mutant that no longer matches the sources names itself, the most similar line and the file to change", async () => {
  const outdated = { name: "outdated", patches: [{ find: "if (ageSeconds >= tolerance) {", replace: "" }] };
  await expect(importPatched("receiver-kit", outdated)).rejects.toThrow(
    /^mutant outdated does not match .*, found it nowhere\n.*\n.* receiver-kit\/\S+:\d+: if \(ageSeconds.*\n.* test\/simulation\/mutants\.ts/,
  );
});
