import type { ImportClient } from "@workspace-tasks/sdk";
import { clientsWithUrls, createImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { crashingProcess } from "./crash-process.ts";

// A process stops before or after a request, or before, in or after a write of its journal. The next process has the same
// journal and the same input, in another order.

export interface StoppedImport {
  readonly clients: readonly ImportClient[];
  /** Without one the workspace cannot be looked up. */
  readonly hasApiKey?: boolean;
  /** Without it each process has a journal of its own. */
  readonly keepsJournal?: boolean;
}

export interface StoppedRun {
  readonly problems: readonly string[];
  /** How many processes were stopped: fewer than asked for when one ended before its step. */
  readonly stopped: number;
  readonly undecided: number;
}

/** Clients with documents, the first of each as a file. */
export const clientsWithFiles = (count: number, artifacts: number): readonly ImportClient[] =>
  clientsWithUrls(count, artifacts).map((client, index) => ({
    ...client,
    artifacts: (client.artifacts ?? []).map((artifact, number) => {
      const { name, type, externalId } = artifact;
      const file = () => new Blob([`document ${index}`]);
      return number === 0 ? { name, type, externalId, mimeType: "application/pdf", file } : artifact;
    }),
  }));

/** What `npm run prove` stops at each step, and at each pair of steps. */
export const provenImports: readonly { readonly clients: number; readonly artifacts: number }[] = [
  { clients: 1, artifacts: 1 },
  { clients: 1, artifacts: 2 },
  { clients: 2, artifacts: 1 },
  { clients: 3, artifacts: 2 },
  { clients: 4, artifacts: 1 },
];

/**
 * Runs an import for each single stop, and for each n-th pair of stops: for each step of the first process each n-th step of
 * the second, until that ends before it is stopped.
 */
export async function* stopEverywhere(input: StoppedImport, everyPair: number): AsyncGenerator<StoppedRun> {
  for (let first = 1; ; first++) {
    const single = await importWithStops(input, [first]);
    yield single;
    if (single.stopped < 1) return;
    for (let second = 1 + (first % everyPair); ; second += everyPair) {
      const pair = await importWithStops(input, [first, second]);
      yield pair;
      if (pair.stopped < 2) break;
    }
  }
}

/** Imports with processes that stop at these steps, and a last one that does not. */
async function importWithStops(
  { clients, hasApiKey = true, keepsJournal = true }: StoppedImport,
  stops: readonly number[],
): Promise<StoppedRun> {
  await using fixture = await createImportFixture();
  const { mock, connectionId, jobName } = fixture;
  let durable = new MemoryJournal();
  const story: string[] = [];
  for (const stopAt of [...stops, Number.POSITIVE_INFINITY]) {
    const process = crashingProcess(mock.fetch, durable, stopAt);
    // A clock object of its own, so that the process has a rate limiter of its own.
    const client = fixture.createClient({
      fetch: process.fetch,
      clock: { ...mock.clock },
      ...(hasApiKey ? {} : { apiKey: undefined }),
    });
    const input = story.length === 1 ? [...clients].reverse() : clients;
    const options = { connectionId, jobName, clients: input, journal: process.journal, worksPerJob: 2 };
    const started = client.partner.imports.start(options);
    started.catch(() => {});
    const ended = await mock.clock.runUntil(Promise.race([started, process.stopped]));
    if (ended !== "stopped") {
      const problems = await fixture.problems(ended, clients);
      const described = problems.map((problem) => `${problem}, after: ${story.join(", then ")}`);
      return { problems: described, stopped: story.length, undecided: ended.counts.undecided };
    }
    story.push(process.steps.at(-1) ?? "");
    if (!keepsJournal) durable = new MemoryJournal();
  }
  throw new Error("expected the last process to end");
}
