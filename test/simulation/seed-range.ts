import { expect, it } from "vitest";
import { crashPoints } from "./crash-points.ts";
import { formatFailure } from "./failure-report.ts";
import { faultKinds } from "./faults.ts";
import { loadSimulation } from "./load-simulation.ts";

/** Declares the test of a range of seeds. Each range has its own file, so that workers share the ranges. */
export function testSeeds(from: number, to: number): void {
  it(`a simulation of seeds ${from} to ${to} violates no invariant, crashes at every crash point and injects every kind of fault`, async () => {
    using simulation = await loadSimulation();
    const { failed, totals } = await simulation.module.runSeeds({ from, count: to - from + 1 });
    if (failed) expect.fail(formatFailure(failed));
    expect(crashPoints.filter((point) => totals.crashes[point] === 0)).toEqual([]);
    expect(faultKinds.filter((kind) => totals.faults[kind] === 0)).toEqual([]);
  }, 120_000);
}
