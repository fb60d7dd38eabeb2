import { expect, test } from "vitest";
import { type CrashCounts, crashPoints, noCrashes } from "./crashes.ts";
import { reportFailure } from "./failure-report.ts";
import { runSimulation } from "./simulation.ts";

/** Declares the test of a range of seeds. Ranges are files of their own, so that workers share them. */
export function judgeSeeds(from: number, to: number): void {
  test(`seeds ${from} to ${to}: every invariant holds at every step, with crashes at every point`, async () => {
    const crashes: CrashCounts = noCrashes();
    for (let seed = from; seed <= to; seed++) {
      const report = await runSimulation({ seed });
      if (report.violation) expect.fail(reportFailure(report));
      for (const point of crashPoints) crashes[point] += report.crashes[point];
    }
    // A point that no seed strikes would be a promise that nobody checks.
    expect(crashPoints.filter((point) => crashes[point] === 0)).toEqual([]);
  }, 120_000);
}
