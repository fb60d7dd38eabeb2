import { expect, it } from "vitest";
import { atDepth } from "../../support/depth.ts";
import { crashPoints } from "./crash-points.ts";
import { formatFailure } from "./failure-report.ts";
import { faultKinds } from "./faults.ts";
import { loadSimulation } from "./load-simulation.ts";

// Each planted bug is found by one of them (the last by seed 203). `npm run prove` continues with new ones.
const count = atDepth(40, 250);

it(`a simulation of seeds 1 to ${count} violates no invariant, crashes at every crash point and injects every kind of fault`, async () => {
  using simulation = await loadSimulation();
  const { failed, totals } = await simulation.module.runSeeds({ from: 1, count });
  if (failed) expect.fail(formatFailure(failed));
  expect(crashPoints.filter((point) => totals.crashes[point] === 0)).toEqual([]);
  expect(faultKinds.filter((kind) => totals.faults[kind] === 0)).toEqual([]);
}, 600_000);
