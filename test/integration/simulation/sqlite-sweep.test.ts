import { expect, it } from "vitest";
import { atDepth } from "../../support/depth.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";
import { failureMoments, sweepSqlite } from "./sqlite-sweep.ts";

const stride = atDepth(24, 1);

it("a receiver loses no event and applies none twice when any single SQLite statement fails", async () => {
  const { runs, statements } = await sweepSqlite({ stride });
  expect(statements.filter((kind) => kind === "COMMIT").length).toBeGreaterThan(10);
  const failures = failureMoments.map((_, first) =>
    Math.ceil((statements.length - (first % stride)) / stride),
  );
  expect(runs).toBe(1 + failures.reduce((sum, count) => sum + count));
}, 600_000);

it("the sweep detects an inbox that acknowledges an insert that has failed", async () => {
  const broken = sweepSqlite({
    stride: 1,
    failing: "BEGIN IMMEDIATE",
    change: (inbox) =>
      overrideInbox(inbox, { insert: (row) => inbox.insert(row).catch(() => ({ outcome: "new" })) }),
  });
  await expect(broken).rejects.toThrow(/^statement \d+ \(.*\) failed /);
}, 600_000);
