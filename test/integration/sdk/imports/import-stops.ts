import type { ImportClient, ImportOptions } from "@workspace-tasks/sdk";
import { clientsWithUrls, createImportFixture, type ImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { crashingProcess } from "./crash-process.ts";

// A process stops before or after a request, or before, in or after a write of its journal. The next process has the same
// journal, or one whose end is lost, and the same input, in another order. Somebody else starts or closes its newest job.

export interface StoppedImport {
  readonly clients: readonly ImportClient[];
  /** Without one the workspace cannot be looked up. */
  readonly hasApiKey?: boolean;
  /** Without it each process has a journal of its own. */
  readonly keepsJournal?: boolean;
  /** How many entries the journal loses after the first process. */
  readonly lost?: number;
  /** What somebody else does with the newest job, before the first process sends its n-th call. */
  readonly intruder?: { readonly call: number; readonly act: "start" | "close" };
  /** The service hides its tasks: what is decided on them is decided wrongly. */
  readonly hidesTasks?: boolean;
  readonly onChanged?: ImportOptions["onChanged"];
}

export interface StoppedRun {
  readonly problems: readonly string[];
  /** How many processes were stopped: fewer than asked for when one ended before its step. */
  readonly stopped: number;
  /** Whether somebody else did something. */
  readonly intruded: boolean;
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

/** Loses 1 to 8 entries of the journal after a process that stops at each n-th step, and after one that does not stop. */
export async function* loseEntries(input: StoppedImport, everyStop: number): AsyncGenerator<StoppedRun> {
  for (let lost = 1; lost <= 8; lost++)
    for (let first = 1 + (lost % everyStop); ; first += everyStop) {
      const run = await importWithStops({ ...input, lost }, [first]);
      yield run;
      if (run.stopped < 1) break;
    }
}

/** Lets somebody else start or close the newest job between any two calls, and stops the process at each n-th step besides. */
export async function* intrudeEverywhere(
  input: StoppedImport,
  everyStop: number,
): AsyncGenerator<StoppedRun> {
  for (const act of ["start", "close"] as const)
    for (let call = 1; ; call++) {
      const run = await importWithStops({ ...input, intruder: { call, act } }, []);
      yield run;
      if (!run.intruded) break;
      for (let first = 1 + (call % everyStop); ; first += everyStop) {
        const stopped = await importWithStops({ ...input, intruder: { call, act } }, [first]);
        yield stopped;
        if (stopped.stopped < 1) break;
      }
    }
}

/** Imports with processes that stop at these steps, and a last one that does not. */
export async function importWithStops(
  {
    clients,
    hasApiKey = true,
    keepsJournal = true,
    lost = 0,
    intruder,
    hidesTasks,
    onChanged,
  }: StoppedImport,
  stops: readonly number[],
): Promise<StoppedRun> {
  await using fixture = await createImportFixture();
  const { mock, connectionId, jobName } = fixture;
  let durable = new MemoryJournal();
  const story: string[] = [];
  const intruding = intrudes(fixture, intruder);
  const fetch: typeof mock.fetch = async (url, init) => {
    if (hidesTasks && String(Object(init).body).includes("ListTasks")) return noTasks();
    return intruding.fetch(url, init);
  };
  for (const stopAt of [...stops, Number.POSITIVE_INFINITY]) {
    const process = crashingProcess(fetch, durable, stopAt);
    // A clock object of its own, so that the process has a rate limiter of its own.
    const client = fixture.createClient({
      fetch: process.fetch,
      clock: { ...mock.clock },
      ...(hasApiKey ? {} : { apiKey: undefined }),
    });
    const input = story.length === 1 ? [...clients].reverse() : clients;
    const { journal } = process;
    const options = { connectionId, jobName, clients: input, journal, worksPerJob: 2, onChanged };
    const started = client.partner.imports.start(options);
    started.catch(() => {});
    let ended = await mock.clock.runUntil(Promise.race([started, process.stopped]));
    const isFirst = story.length === 0;
    if (isFirst && lost > 0) {
      durable.entries.splice(Math.max(0, durable.entries.length - lost));
      if (ended !== "stopped") {
        const again = fixture.createClient({ clock: { ...mock.clock } });
        ended = await mock.clock.runUntil(again.partner.imports.start({ ...options, journal: durable }));
      }
    }
    if (ended !== "stopped") {
      const all = await fixture.problems(ended, clients);
      // An older journal cannot say which documents were attached since.
      const problems = lost > 0 ? all.filter((problem) => !problem.includes("has the documents")) : all;
      const acts = intruder ? `${intruder.act} before call ${intruder.call}, ` : "";
      const described = problems.map(
        (problem) => `${problem}, after: ${acts}${lost} entries lost, ${story.join(", then ")}`,
      );
      return {
        problems: described,
        stopped: story.length,
        intruded: intruding.intruded(),
        undecided: ended.counts.undecided,
      };
    }
    story.push(process.steps.at(-1) ?? "");
    if (!keepsJournal) durable = new MemoryJournal();
  }
  throw new Error("expected the last process to end");
}

/**
 * What a person may do in the web app, or the service by itself: start the newest job, or close it, so that nothing of it is
 * imported.
 */
function intrudes({ mock, createClient }: ImportFixture, intruder: StoppedImport["intruder"]) {
  let [calls, intruded] = [0, false];
  let newest: string | undefined;
  const jobOf = new Map<string, string>();
  const conflict = { errors: [{ message: "the job is closed", code: "CONFLICT" }] };

  async function close(jobId: string): Promise<void> {
    const reject = (field: string, isOfJob: (variables: Record<string, unknown>) => boolean) =>
      mock.override(field, async ({ variables, original }) =>
        isOfJob(variables) ? conflict : { data: (await original()) as object },
      );
    reject("createJobWorks", ({ connectionJobId }) => connectionJobId === jobId);
    reject("createJobWorkArtifacts", ({ jobWorkId }) => jobOf.get(String(jobWorkId)) === jobId);
    reject("initiateTaxPrepsImport", ({ connectionJobId }) => connectionJobId === jobId);
  }

  return {
    intruded: () => intruded,
    async fetch(...[url, init]: Parameters<typeof mock.fetch>): Promise<Response> {
      if (++calls === intruder?.call) {
        intruded = true;
        if (newest !== undefined && intruder.act === "close") await close(newest);
        if (newest !== undefined && intruder.act === "start")
          await createClient({ clock: { ...mock.clock } })
            .partner.jobs.startImport(newest)
            .catch(() => {});
      }
      const response = await mock.fetch(url, init);
      const { data } = (await response
        .clone()
        .json()
        .catch(() => ({}))) as { readonly data?: Answer | null };
      newest = data?.createConnectionJob?.id ?? newest;
      for (const { id, connectionJobId } of data?.createJobWorks ?? []) jobOf.set(id, connectionJobId);
      return response;
    },
  };
}

interface Answer {
  readonly createConnectionJob?: { readonly id: string } | null;
  readonly createJobWorks?: readonly { readonly id: string; readonly connectionJobId: string }[] | null;
}

const noTasks = () =>
  Response.json({ data: { me: { __typename: "WorkspaceUser", workspace: { tasks: [] } } } });
