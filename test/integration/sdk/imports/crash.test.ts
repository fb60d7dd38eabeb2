import { describe, expect, it } from "vitest";
import { atDepth, isFullDepth } from "../../../support/depth.ts";
import { clientsWithUrls, createImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { clientsWithFiles, type StoryEnd, stoppedImports, stories } from "./import-stops.ts";

// `npm test` takes a selection of the stops, a run at full depth a larger one, and `npm run prove -- --only stops` all.

async function sum(ends: AsyncGenerator<StoryEnd>) {
  const totals = { problems: [] as string[], undecided: 0, runs: 0 };
  for await (const { problems, undecided } of ends) {
    totals.problems.push(...problems);
    totals.undecided += undecided;
    totals.runs += 1;
  }
  return totals;
}

/** At each n-th step; and whether clients may be left to people. */
const selected = [
  ["one or two processes halt, one after the other", 97, false],
  ["one or two processes halt, and the journal has lost 0 to 8 entries", 293, true],
  ["a process halts, and the journal has lost 0 to 8 entries", 13, true],
  ["documents change after a process halts, and the journal has lost 0 to 8 entries", 13, true],
  ["others start or close the newest job, and the process halts", 67, true],
  ["a process is frozen, and continues when another one has its journal", 97, false],
] as const satisfies readonly (readonly [keyof typeof stories, number, boolean])[];

describe("an import of which", () => {
  it.each(selected)(
    "%s imports no client twice, and none is imported without a task",
    async (what, every, mayDoubt) => {
      for (const { clients, artifacts } of isFullDepth ? stoppedImports : stoppedImports.slice(2, 3)) {
        const base = { clients: clientsWithFiles(clients, artifacts) };
        const { problems, undecided, runs } = await sum(stories[what](base, atDepth(every, 11)));
        expect(problems).toEqual([]);
        // What was lost is looked up among the clients of the workspace.
        expect(undecided > 0).toBe(mayDoubt);
        expect(runs).toBeGreaterThan(20);
      }
    },
    600_000,
  );

  it("processes halt reports clients as undecided when the workspace cannot be looked up", async () => {
    const base = { clients: clientsWithUrls(2, 1), hasApiKey: false };
    const { problems, undecided } = await sum(
      stories["one or two processes halt, one after the other"](base, 1_000),
    );
    expect(problems).toEqual([]);
    expect(undecided).toBeGreaterThan(0);
  }, 60_000);

  it("the journal has lost its end leaves those to people whose documents are in doubt, and no others", async () => {
    await using fixture = await createImportFixture();
    const clients = clientsWithUrls(4, 1);
    const journal = new MemoryJournal();
    await fixture.import({ clients, journal, concurrency: 1 });
    const last = journal.entries.findLastIndex((entry) => entry.startsWith('["attach",'));
    journal.entries.splice(last);
    const result = await fixture.import({ clients, journal });
    expect(result.counts).toMatchObject({ imported: 3, undecided: 1 });
    expect(await fixture.problems(result, clients)).toEqual([]);
  });

  it("the journal has lost entries imports clients twice when the service hides its tasks (control)", async () => {
    const base = { clients: clientsWithFiles(1, 1), hidesTasks: true };
    const what = "a process halts, and the journal has lost 0 to 8 entries";
    for await (const { problems } of stories[what](base, 1))
      if (problems.some((problem) => problem.includes("has 2 tasks"))) return;
    expect.fail("nothing was imported twice");
  }, 60_000);
});
