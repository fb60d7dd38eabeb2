import { describe, expect, it } from "vitest";
import { atDepth } from "../../../support/depth.ts";
import { clientsWithUrls } from "../../../support/import-fixture.ts";
import { clientsWithFiles, provenImports, type StoppedImport, stopEverywhere } from "./import-stops.ts";

// `npm test` takes each single stop of the imports with two documents and a part of their pairs of stops, a run at full depth
// all imports and each pair of 1 and 2 clients, and `npm run prove -- --only stops` each pair.

async function stopped(input: StoppedImport, everyPair: number) {
  const totals = { problems: [] as string[], undecided: 0, runs: 0 };
  for await (const { problems, undecided } of stopEverywhere(input, everyPair)) {
    totals.problems.push(...problems);
    totals.undecided += undecided;
    totals.runs += 1;
  }
  return totals;
}

// By number of clients.
const everyPair = [1, atDepth(173, 1), 1, atDepth(701, 11), 17];

describe("a process that stops anywhere", () => {
  const withTwoDocuments = provenImports.filter(({ artifacts }) => artifacts === 2);
  it.each(atDepth(withTwoDocuments, provenImports))(
    "is continued by the next: every one of $clients clients is imported once, with each of its $artifacts documents once",
    async ({ clients, artifacts }) => {
      const input = { clients: clientsWithFiles(clients, artifacts) };
      const { problems, undecided, runs } = await stopped(input, everyPair[clients] ?? 1);
      expect(problems).toEqual([]);
      // What was lost is looked up among the clients of the workspace.
      expect(undecided).toBe(0);
      expect(runs).toBeGreaterThan(30);
    },
    600_000,
  );

  it("reports clients as undecided when the workspace cannot be looked up, and imports none twice", async () => {
    const input = { clients: clientsWithUrls(2, 1), hasApiKey: false };
    const { problems, undecided } = await stopped(input, atDepth(101, 7));
    expect(problems).toEqual([]);
    expect(undecided).toBeGreaterThan(0);
  }, 600_000);

  it("loses clients without a journal (control)", async () => {
    const found: string[] = [];
    const isFound = () => found.some((problem) => problem.startsWith("client-0 is exists and has 0 tasks"));
    const input = { clients: clientsWithFiles(2, 1), keepsJournal: false };
    for await (const { problems } of stopEverywhere(input, 997)) {
      found.push(...problems);
      if (isFound()) break;
    }
    expect(isFound()).toBe(true);
  });
});
