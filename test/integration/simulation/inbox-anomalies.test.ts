import { join } from "node:path";
import { expect, it } from "vitest";
import { atDepth } from "../../support/depth.ts";
import { withFolder } from "../../support/with-folder.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";
import { failureMoments, type SweepOptions, type SweepResult, sweep } from "./failure-sweep.ts";
import { type ChangeInbox, runOnSqlite } from "./sqlite-scenario.ts";

const stride = atDepth(24, 1);
const error = () => Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });

/** Runs a receiver on new SQLite files, with one statement failing in each. */
const sweepSqlite = (
  options: Pick<SweepOptions, "stride" | "failing">,
  change?: ChangeInbox,
): Promise<SweepResult> =>
  withFolder((folder) => {
    let files = 0;
    return sweep((calls) => runOnSqlite(join(folder, `${files++}.db`), calls, change), { error, ...options });
  });

it("a receiver loses no event and applies none twice when any single SQLite statement fails", async () => {
  const { runs, calls } = await sweepSqlite({ stride });
  expect(calls.filter((call) => call === "COMMIT").length).toBeGreaterThan(10);
  const failures = failureMoments.map((_, first) => Math.ceil((calls.length - (first % stride)) / stride));
  expect(runs).toBe(1 + failures.reduce((sum, count) => sum + count));
}, 600_000);

it("the sweep detects an inbox that acknowledges an insert that has failed", async () => {
  const broken = sweepSqlite({ stride: 1, failing: "BEGIN IMMEDIATE" }, (inbox) =>
    overrideInbox(inbox, { insert: (row) => inbox.insert(row).catch(() => ({ outcome: "new" })) }),
  );
  await expect(broken).rejects.toThrow(/^call \d+ \(.*\) failed /);
}, 600_000);
