import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isFullDepth } from "../support/depth.ts";
import { formatFailure, repeatCommand } from "./failure-report.ts";
import { mutants, productsOf } from "./mutants.ts";
import { runSeeds } from "./run-seeds.ts";
import { runSimulation } from "./simulation.ts";

describe("runSimulation", () => {
  it("produces the same trace for the same seed, and different traces for different seeds", async () => {
    const seeds = [3, 14, 62];
    const hashes = async () => {
      const traces: string[] = [];
      for (const seed of seeds) traces.push((await runSimulation({ seed })).traceHash);
      return traces;
    };
    const first = await hashes();
    expect(await hashes()).toEqual(first);
    expect(new Set(first).size).toBe(seeds.length);
  });

  if (isFullDepth) {
    it("violates no invariant for a random seed", async () => {
      const seed = randomInt(1_000_000, 2 ** 32);
      console.log(`random seed: ${seed}; repeat: ${repeatCommand(seed)}`);
      const report = await runSimulation({ seed });
      if (report.violation) expect.fail(formatFailure(report));
      expect(report.counts.rows).toBeGreaterThan(0);
    });
  }

  it("repeats a failed run up to the same step, with the same trace", async () => {
    const mutant = mutants.find(({ name }) => name === "acknowledge-before-commit");
    using broken = await productsOf(mutant!);
    const { failed } = await runSeeds({ from: 1, count: 50, products: broken.products });
    const seed = failed?.seed ?? 0;
    expect(await runSimulation({ seed, products: broken.products })).toEqual(failed);
    expect((await runSimulation({ seed })).violation).toBeUndefined();
  });
});

// Wrapped inboxes; bugs that are patches of the sources are tried by `npm run prove`.
it.each(mutants.filter((mutant) => "products" in mutant))(
  "the simulation finds within 50 seeds that $bug",
  async (mutant) => {
    using broken = await productsOf(mutant);
    const { failed } = await runSeeds({ from: 1, count: 50, products: broken.products });
    expect(mutant.violates).toContain(failed?.violation?.invariant);
  },
);
