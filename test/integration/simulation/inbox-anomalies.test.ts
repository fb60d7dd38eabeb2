import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryTransaction } from "@workspace-tasks/receiver-kit";
import { expect, it } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { atDepth } from "../../support/depth.ts";
import { memoryInbox } from "../../support/inbox-stores.ts";
import { createFixtureClock } from "../../support/receiver-fixture.ts";
import { interceptInbox, overrideInbox } from "../../support/wrap-inbox.ts";
import { type Calls, failureMoments, sweep } from "./failure-sweep.ts";
import { runReceiverScenario } from "./receiver-scenario.ts";
import { runOnSqlite } from "./sqlite-scenario.ts";

it("a receiver loses no event and applies none twice when any single call of its inbox fails", async () => {
  const { runs, calls } = await sweep((calls) => runOnMemory(calls));
  const methods = [
    "open",
    "subscribe",
    "readMarks",
    "writeMarks",
    "repairTimes",
    "insert",
    "claim",
    "commit",
    "fail",
    "head",
    "reconcileCandidates",
    "close",
  ];
  expect(methods.filter((method) => !calls.includes(method))).toEqual([]);
  expect(runs).toBe(1 + 2 * calls.length);
}, 600_000);

it("a receiver loses no event and applies none twice when any single SQLite statement fails", async () => {
  const stride = atDepth(24, 1);
  const diskError = () => Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
  const directory = mkdtempSync(join(tmpdir(), "workspace-tasks-sweep-"));
  let files = 0;
  try {
    const { runs, calls } = await sweep((calls) => runOnSqlite(join(directory, `${files++}.db`), calls), {
      error: diskError,
      stride,
    });
    expect(calls.filter((call) => call === "COMMIT").length).toBeGreaterThan(10);
    const failures = failureMoments.map((_, first) => Math.ceil((calls.length - (first % stride)) / stride));
    expect(runs).toBe(1 + failures.reduce((sum, count) => sum + count));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 600_000);

it("the sweep detects an inbox that acknowledges an insert before it succeeded", async () => {
  const broken = sweep((calls) =>
    runOnMemory(calls, (inbox) =>
      overrideInbox(inbox, { insert: (row) => inbox.insert(row).catch(() => ({ outcome: "new" })) }),
    ),
  );
  await expect(broken).rejects.toThrow(/^call \d+ \(insert\) failed before its effect/);
});

async function runOnMemory(
  calls: Calls,
  change = (inbox: InboxStore<MemoryTransaction>): InboxStore<MemoryTransaction> => inbox,
): Promise<void> {
  const clock = createFixtureClock();
  const rows = memoryInbox({ clock });
  const effects: string[] = [];
  await runReceiverScenario<MemoryTransaction>({
    ...{ clock, rows, inbox: change(failingInbox(rows, calls)) },
    write: async (transaction, name) => transaction.apply(() => effects.push(name)),
    committed: async () => effects,
  });
}

/** A durable inbox whose calls fail as the sweep says. */
const failingInbox = (rows: InboxStore<MemoryTransaction>, calls: Calls): InboxStore<MemoryTransaction> =>
  overrideInbox(interceptInbox(rows, calls.through), { durable: true });
