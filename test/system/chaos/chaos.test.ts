// Some cells of the chaos matrix, one short run each; `npm run chaos` runs all of them for as long as one likes.

import { describe, expect, it } from "vitest";
import { atDepth } from "../../support/depth.ts";
import type { KillableReceiverOptions } from "../../support/killable-receiver.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { hasPostgres } from "../../support/with-postgres.ts";
import { killCell } from "./cells/kill-cells.ts";
import { openStores, type StoreName } from "./cells/receiver-store.ts";
import type { ChaosCell, ChaosWorld, Fault } from "./chaos-cell.ts";
import { type CellReport, isFlawless, runCell } from "./run-cell.ts";

const timeoutMs = 300_000;
const stores = openStores(sharedPostgres);

async function run<World extends ChaosWorld>(cell: ChaosCell<World>) {
  await using world = await cell.start();
  return await runCell(cell, world, 1);
}

function expectFlawless(report: CellReport, cell: Pick<Fault, "rejectsNothing">): void {
  expect(report, report.examples.join("\n")).toMatchObject({ lost: 0, twice: 0, wrong: 0 });
  expect(isFlawless(report, cell)).toBe(true);
  expect(report.acknowledged).toBeGreaterThan(100);
}

describe("receivers that are killed with SIGKILL at random instants", { timeout: timeoutMs }, () => {
  const cases: readonly (readonly [StoreName, handler: string, Pick<KillableReceiverOptions, "batches">])[] =
    [
      ["sqlite", "a handler of single events", { batches: false }],
      ["postgres", "a handler of batches, of which some fail as a whole", { batches: true }],
      ["sqlite", "a handler of batches, of which some fail as a whole", { batches: true }],
      ["postgres", "a handler of single events", { batches: false }],
    ];

  it.each(atDepth(cases.slice(0, 2), cases).filter(([store]) => store === "sqlite" || hasPostgres))(
    "lose nothing, apply nothing twice and leave no wrong state on %s with %s",
    async (store, _, behaviour) => {
      const cell = killCell(stores[store], store, { processes: 2, rounds: 2 }, behaviour);
      expectFlawless(await run(cell), cell);
    },
  );

  it("are counted as losing deliveries when they acknowledge them before they store them", async () => {
    const cell = killCell(stores.sqlite, "sqlite", { processes: 1, rounds: 2 }, { losesDeliveries: true });
    const load = { tasks: 100, beforeMs: 400, afterMs: 400, gapMs: 10, drainTimeoutMs: 3_000 };
    // On a busy machine no delivery may be in between when the process is killed.
    const reports = [await run({ ...cell, load })];
    while (reports.at(-1)?.lost === 0 && reports.length < 5) reports.push(await run({ ...cell, load }));
    expect(reports.at(-1)?.lost).toBeGreaterThan(0);
    expect(reports.every((report) => isFlawless(report, cell))).toBe(false);
  });
});
