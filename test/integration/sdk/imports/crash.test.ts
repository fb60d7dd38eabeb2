import type { ImportClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { atDepth } from "../../../support/depth.ts";
import { clientsWithUrls, createImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { crashingProcess } from "./crash-process.ts";

// A process stops before or after a request, or before, in or after a write of its journal. The next process has the same
// journal and the same input. `npm test` takes each single stop and a part of the pairs of stops.

interface Case {
  readonly clients: readonly ImportClient[];
  /** Without one the workspace cannot be looked up. */
  readonly hasApiKey?: boolean;
  /** Without it each process has a journal of its own. */
  readonly keepsJournal?: boolean;
}

interface Run {
  readonly failures: readonly string[];
  /** How many steps the last process took. */
  readonly steps: number;
  readonly undecided: number;
}

/** The documents of clients, the first of each as a file. */
const withFiles = (count: number, artifacts: number): readonly ImportClient[] =>
  clientsWithUrls(count, artifacts).map((client, index) => ({
    ...client,
    artifacts: (client.artifacts ?? []).map((artifact, number) => {
      const { name, type, externalId } = artifact;
      const file = () => new Blob([`document ${index}`]);
      return number === 0 ? { name, type, externalId, mimeType: "application/pdf", file } : artifact;
    }),
  }));

/** Imports with processes that stop at these steps, and a last one that does not. */
async function importWithStops(
  { clients, hasApiKey = true, keepsJournal = true }: Case,
  stops: readonly number[],
): Promise<Run> {
  await using fixture = await createImportFixture();
  const { mock, connectionId, jobName } = fixture;
  let durable = new MemoryJournal();
  const story: string[] = [];
  for (const [index, stopAt] of [...stops, Number.POSITIVE_INFINITY].entries()) {
    const process = crashingProcess(mock.fetch, durable, stopAt);
    // A clock object of its own, so that the process has a rate limiter of its own.
    const client = fixture.createClient({
      fetch: process.fetch,
      clock: { ...mock.clock },
      ...(hasApiKey ? {} : { apiKey: undefined }),
    });
    const { journal } = process;
    // The clients may come in another order.
    const input = { connectionId, jobName, journal, clients: index === 1 ? [...clients].reverse() : clients };
    const started = client.partner.imports.start({ ...input, worksPerJob: 2 });
    started.catch(() => {});
    const ended = await mock.clock.runUntil(Promise.race([started, process.stopped]));
    if (ended !== "stopped") {
      const problems = await fixture.problems(ended, clients);
      const failures = problems.map((problem) => `${problem}, after: ${story.join(", then ")}`);
      return { failures, steps: process.steps.length, undecided: ended.counts.undecided };
    }
    story.push(process.steps.at(-1) ?? "");
    if (!keepsJournal) durable = new MemoryJournal();
  }
  throw new Error("expected the last process to end");
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Every single stop, and every n-th pair. */
async function stopEverywhere(
  input: Case,
  { everyPair }: { readonly everyPair: number },
): Promise<readonly Run[]> {
  const steps = upTo((await importWithStops(input, [])).steps);
  const pairs = steps.flatMap((first) => steps.map((second) => [first, second]));
  const stops = [...steps.map((step) => [step]), ...pairs.filter((_, index) => index % everyPair === 0)];
  const runs: Run[] = [];
  for (const each of stops) runs.push(await importWithStops(input, each));
  return runs;
}

const failuresIn = (runs: readonly Run[]) => runs.flatMap(({ failures }) => failures);

describe("a process that stops anywhere", () => {
  it.each([
    { clients: 1, artifacts: 1, everyPair: atDepth(40, 1) },
    { clients: 1, artifacts: 2, everyPair: atDepth(40, 1) },
    { clients: 2, artifacts: 1, everyPair: atDepth(60, 1) },
    { clients: 3, artifacts: 2, everyPair: atDepth(200, 11) },
    { clients: 4, artifacts: 1, everyPair: atDepth(300, 17) },
  ])(
    "is continued by the next: every one of $clients clients is imported once, with each of its $artifacts documents once",
    async ({ clients, artifacts, everyPair }) => {
      const runs = await stopEverywhere({ clients: withFiles(clients, artifacts) }, { everyPair });
      expect(failuresIn(runs)).toEqual([]);
      // What was lost is looked up among the clients of the workspace.
      expect(runs.filter(({ undecided }) => undecided > 0)).toEqual([]);
    },
    600_000,
  );

  it("reports clients as undecided when the workspace cannot be looked up, and imports none twice", async () => {
    const runs = await stopEverywhere(
      { clients: clientsWithUrls(2, 1), hasApiKey: false },
      { everyPair: atDepth(100, 7) },
    );
    expect(failuresIn(runs)).toEqual([]);
    expect(runs.some(({ undecided }) => undecided > 0)).toBe(true);
  }, 600_000);

  it("loses clients without a journal (control)", async () => {
    const runs = await stopEverywhere(
      { clients: withFiles(2, 1), keepsJournal: false },
      { everyPair: 1_000 },
    );
    expect(failuresIn(runs)).toContainEqual(expect.stringMatching(/^client-0 is exists and has 0 tasks/));
  });
});
