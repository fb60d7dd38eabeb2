import { describe, expect, it } from "vitest";
import { chaosTable, isGood, type Run, summarize } from "./chaos-results.ts";

const report = {
  ...{ cell: "a fault", seed: 1, acknowledged: 1_200, rejected: 3, lost: 0, twice: 0, wrong: 0 },
  ...{ acceptPauseMs: 1_250, handlePauseMs: 300, examples: [] },
};
const run = (fields: Partial<Run> = {}): Run => ({
  ...{
    date: "2026-11-22T00:00:00.000Z",
    commit: "abc",
    cell: "a fault",
    seed: 1,
    rejectsNothing: false,
    report,
  },
  ...fields,
});

describe("the summary of chaos runs", () => {
  it("adds up the runs of each cell and has its longest pauses", () => {
    const second = { ...report, acceptPauseMs: 90, handlePauseMs: 2_000, lost: 1 };
    expect(summarize([run(), run({ seed: 2, report: second }), run({ cell: "another" })])).toEqual([
      {
        ...{
          cell: "a fault",
          runs: 2,
          seeds: "1–2",
          acknowledged: 2_400,
          rejected: 6,
          lost: 1,
          twice: 0,
          wrong: 0,
          failed: 0,
        },
        ...{ acceptPauseMs: 1_250, handlePauseMs: 2_000 },
      },
      expect.objectContaining({ cell: "another", runs: 1 }),
    ]);
  });

  it("counts runs that ended with an error, or rejected what may not be rejected, as failed", () => {
    const failed = [
      run({ report: undefined, error: "the standbys do not stream" }),
      run({ rejectsNothing: true }),
    ];
    expect(failed.map(isGood)).toEqual([false, false]);
    const [summary] = summarize([run(), ...failed]);
    expect(summary).toMatchObject({ runs: 3, failed: 2, lost: 0 });
    expect(chaosTable([summary!])).toContain("| handles after | failed |");
    expect(chaosTable(summarize([run()]))).toContain(
      "| a fault | 1 | 1,200 | 3 | 0 | 0 | 0 | 1.3 s | 0.3 s |",
    );
  });
});
