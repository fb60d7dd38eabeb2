import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { isFullDepth } from "../../support/depth.ts";
import { patchedSources } from "./bundles.ts";
import { formatFailure } from "./invariants.ts";
import { mutants, productsOf } from "./mutants.ts";
import { runSeeds } from "./run-seeds.ts";
import { runSimulation } from "./simulation.ts";

it("a simulation has the same trace for the same seed, and another trace for another seed", async () => {
  const [first, again, other] = [
    await runSimulation({ seed: 3 }),
    await runSimulation({ seed: 3 }),
    await runSimulation({ seed: 14 }),
  ];
  expect(again.traceHash).toBe(first.traceHash);
  expect(other.traceHash).not.toBe(first.traceHash);
});

if (isFullDepth) {
  it("a simulation of a random seed violates no invariant", async () => {
    const report = await runSimulation({ seed: randomInt(1_000_000, 2 ** 32) });
    if (report.violation) expect.fail(formatFailure(report));
    expect(report.counts.rows).toBeGreaterThan(0);
  });
}

it.each(mutants)("the planted bug $name is a change of the sources as they are", (mutant) => {
  expect(patchedSources(mutant).size).toBeGreaterThan(100);
});

// The other planted bugs are tried by `npm run prove`.
it("the simulation finds a receiver that acknowledges a delivery before its row is committed", async () => {
  const mutant = mutants.find(({ name }) => name === "acknowledge-before-commit")!;
  using broken = await productsOf(mutant);
  const { failed } = await runSeeds({ from: 1, count: 50, products: broken.products });
  expect(mutant.violates).toContain(failed?.violation?.invariant);
});
