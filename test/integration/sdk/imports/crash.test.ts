import { describe, expect, it } from "vitest";
import { atDepth } from "../../../support/depth.ts";
import { clientsWithUrls } from "../../../support/import-fixture.ts";
import {
  clientsWithFiles,
  intrudeEverywhere,
  loseEntries,
  provenImports,
  type StoppedRun,
  stopEverywhere,
} from "./import-stops.ts";

// `npm test` takes a part of the stops, a run at full depth all single ones of all imports, and `npm run prove -- --only stops`
// each pair, each end of a journal and each act of somebody else.

async function sum(stopped: AsyncGenerator<StoppedRun>) {
  const totals = { problems: [] as string[], undecided: 0, runs: 0 };
  for await (const { problems, undecided } of stopped) {
    totals.problems.push(...problems);
    totals.undecided += undecided;
    totals.runs += 1;
  }
  return totals;
}

// By number of clients.
const everyPair = [1, atDepth(173, 1), 1, atDepth(701, 11), 17];
const [one, two] = [clientsWithFiles(1, 1), clientsWithFiles(2, 1)];

describe("a process that stops anywhere", () => {
  const withTwoDocuments = provenImports.filter(({ artifacts }) => artifacts === 2);
  it.each(atDepth(withTwoDocuments, provenImports))(
    "is continued by the next: every one of $clients clients is imported once, with each of its $artifacts documents once",
    async ({ clients, artifacts }) => {
      const input = { clients: clientsWithFiles(clients, artifacts) };
      const { problems, undecided, runs } = await sum(stopEverywhere(input, everyPair[clients] ?? 1));
      expect(problems).toEqual([]);
      // What was lost is looked up among the clients of the workspace.
      expect(undecided).toBe(0);
      expect(runs).toBeGreaterThan(30);
    },
    600_000,
  );

  it("reports clients as undecided when the workspace cannot be looked up, and imports none twice", async () => {
    const input = { clients: clientsWithUrls(2, 1), hasApiKey: false };
    const { problems, undecided } = await sum(stopEverywhere(input, atDepth(101, 7)));
    expect(problems).toEqual([]);
    expect(undecided).toBeGreaterThan(0);
  }, 600_000);

  it("imports no client twice when the journal has lost its last entries, and none is imported without a task", async () => {
    const { problems, runs } = await sum(loseEntries({ clients: two }, atDepth(13, 1)));
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(20);
  }, 600_000);

  it("imports no client twice when somebody else starts or closes its job between any two calls", async () => {
    const { problems, undecided, runs } = await sum(intrudeEverywhere({ clients: two }, atDepth(67, 1)));
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(20);
    expect(undecided).toBeGreaterThan(0);
  }, 600_000);

  it("imports clients twice when the service hides its tasks (control)", async () => {
    const found: string[] = [];
    const isFound = () => found.some((problem) => problem.includes("has 2 tasks"));
    for await (const { problems } of loseEntries({ clients: one, hidesTasks: true }, 1)) {
      found.push(...problems);
      if (isFound()) break;
    }
    expect(isFound()).toBe(true);
  }, 60_000);
});
