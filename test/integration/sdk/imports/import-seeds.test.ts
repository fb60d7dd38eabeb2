import { expect, it } from "vitest";
import { atDepth } from "../../../support/depth.ts";
import { runImportSeed } from "./import-seeds.ts";

// `npm run prove -- --only imports --seeds 1000` continues with others.
const count = atDepth(8, 100);

it(`imports of seeds 1 to ${count} import every client once through faults and stopped processes, or report it`, async () => {
  const totals = { imported: 0, unchanged: 0, exists: 0, failed: 0, undecided: 0, open: 0 };
  let processes = 0;
  for (let seed = 1; seed <= count; seed++) {
    const report = await runImportSeed(seed);
    expect(report.problems, `seed ${seed}`).toEqual([]);
    processes += report.processes;
    for (const status of Object.keys(totals) as (keyof typeof totals)[])
      totals[status] += report.counts[status];
  }
  // The faults did something, and little is left to people.
  expect(processes).toBeGreaterThan(count);
  expect(totals.exists).toBeGreaterThan(0);
  // By the last process of a seed, or by one before it.
  expect(totals.imported + totals.unchanged).toBeGreaterThan(0.85 * 50 * count);
}, 600_000);
