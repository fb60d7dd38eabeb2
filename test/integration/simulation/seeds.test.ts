import { expect, it } from "vitest";
import { atDepth, isFullDepth } from "../../support/depth.ts";
import { loadSimulation } from "./bundles.ts";
import { meetable } from "./faults.ts";
import { formatFailure } from "./invariants.ts";

// Each planted bug is found by one of those at full depth. `npm run prove` continues with new ones.
const count = atDepth(12, 250);

it(`a simulation of seeds 1 to ${count} violates no invariant, and all of them meet every crash point and kind of fault`, async () => {
  using simulation = await loadSimulation();
  const { failed, totals } = await simulation.module.runSeeds({ from: 1, count });
  if (failed) expect.fail(formatFailure(failed));
  expect(totals.deliveries).toBeGreaterThan(0);
  // Few seeds do not meet every fault.
  if (!isFullDepth) return;
  expect(meetable.filter((what) => !totals.met[what])).toEqual([]);
}, 600_000);
