import { expect, it } from "vitest";
import { mutants, productsOf } from "./mutants.ts";
import { runSeeds } from "./run-seeds.ts";
import { shrink, tellShrunk, testOf } from "./shrink.ts";
import { runSimulation } from "./simulation.ts";

it("a failing seed is reduced to a run that fails in the same way, told as a story and as a test", async () => {
  const mutant = mutants.find(({ name }) => name === "acknowledge-before-commit")!;
  using mutated = await productsOf(mutant);
  const { failed } = await runSeeds({ from: 1, count: 20, products: mutated.products });
  const seed = failed!.seed;
  const shrunk = (await shrink(seed, mutated.products, 45))!;
  const { before, after, report, reduction } = shrunk;
  expect(report.violation?.invariant).toBe("I1");
  expect(after.faultKinds).toBeLessThan(before.faultKinds);
  expect(after.steps + after.faultKinds + after.faults).toBeLessThan(
    before.steps + before.faultKinds + before.faults,
  );
  const repeated = await runSimulation({ seed, products: mutated.products, reduction });
  expect(repeated.violation).toEqual(report.violation);
  expect(tellShrunk(shrunk)).toMatch(
    /receiver-\d+ starts\n[\s\S]*VIOLATION of I1: delivery-\d+ was acknowledged/,
  );
  expect(testOf(shrunk)).toContain(`await runSimulation({ seed: ${seed}, reduction })`);
}, 120_000);

it("a seed that violates nothing is not reduced", async () => {
  expect(await shrink(1, undefined)).toBeUndefined();
});
