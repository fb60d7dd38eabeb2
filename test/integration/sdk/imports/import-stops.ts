import type { ImportClient } from "@workspace-tasks/sdk";
import { clientsWithUrls, createImportFixture, type ImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { type CrashingProcess, startProcess } from "./crash-process.ts";

// A process halts before or after a request, or before, in or after a write of its journal. The next process has the same
// journal, or one whose end is lost, and the same input, in another order, or changed documents. Others start or close its
// newest job.

export interface Story {
  readonly clients: readonly ImportClient[];
  /** The step at which each process but the last halts, from 1. */
  readonly stops?: readonly number[];
  /** How many entries the journal loses after the first process. */
  readonly lost?: number;
  /** The step of the second process at which the first, whose journal that has taken, continues. */
  readonly wakesAt?: number;
  /** What others do with the newest job, before the first process sends its n-th call. */
  readonly intruder?: { readonly call: number; readonly act: "start" | "close" } | undefined;
  /** Each client has one more document after the first process, and `onChanged` is `import`. */
  readonly changes?: boolean;
  /** Without one the workspace cannot be looked up. */
  readonly hasApiKey?: boolean;
  /** The service hides its tasks: what is decided on them is decided wrongly. */
  readonly hidesTasks?: boolean;
}

export interface StoryEnd {
  readonly problems: readonly string[];
  /** How many processes halted, and whether the first one continued, and others did something: fewer when one ended before. */
  readonly halted: number;
  readonly woke: boolean;
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

/** The imports that are stopped. */
export const stoppedImports: readonly { readonly clients: number; readonly artifacts: number }[] = [
  { clients: 1, artifacts: 1 },
  { clients: 1, artifacts: 2 },
  { clients: 2, artifacts: 1 },
  { clients: 3, artifacts: 2 },
  { clients: 4, artifacts: 1 },
];

type Stories = (base: Story, every: number) => AsyncGenerator<StoryEnd>;
const lostMax = 8;

/** Numbers from 1, each n-th from the given one, until the story of one ends otherwise. */
async function* each(
  from: number,
  every: number,
  tell: (step: number) => Promise<StoryEnd>,
  isOver: (end: StoryEnd) => boolean,
): AsyncGenerator<StoryEnd> {
  for (let step = 1 + (from % every); ; step += every) {
    const end = await tell(step);
    yield end;
    if (isOver(end)) return;
  }
}

/** A process halts after those of the story, at each n-th step. */
const halting = (story: Story, from: number, every: number) => {
  const { stops = [] } = story;
  return each(
    from,
    every,
    (step) => tellStory({ ...story, stops: [...stops, step] }),
    ({ halted }) => halted <= stops.length,
  );
};

async function* losing(story: Story, every: number): AsyncGenerator<StoryEnd> {
  for (let lost = 0; lost <= lostMax; lost++) yield* halting({ ...story, lost }, lost, every);
}

/** A process halts at each step; for each, another event is tried at each n-th. */
async function* paired(tell: (first: number) => AsyncGenerator<StoryEnd>): AsyncGenerator<StoryEnd> {
  for (let first = 1, isOver = false; !isOver; first++)
    for await (const end of tell(first)) {
      yield end;
      isOver = end.halted < 1;
    }
}

/** What is tried at each step of an import; for the second of two events, at each n-th. */
export const stories = {
  "one or two processes halt, one after the other": (base, every) =>
    paired((first) => halting({ ...base, stops: [first] }, first, every)),
  "one or two processes halt, and the journal has lost 0 to 8 entries": (base, every) =>
    paired((first) =>
      halting(
        { ...base, stops: [first], lost: first % (lostMax + 1) },
        Math.floor(first / (lostMax + 1)),
        every,
      ),
    ),
  "a process halts, and the journal has lost 0 to 8 entries": losing,
  "documents change after a process halts, and the journal has lost 0 to 8 entries": (base, every) =>
    losing({ ...base, changes: true }, every),
  async *"others start or close the newest job, and the process halts"(base, every) {
    for (const act of ["start", "close"] as const)
      for (let call = 1; ; call++) {
        const story = { ...base, intruder: { call, act } };
        const alone = await tellStory(story);
        yield alone;
        if (!alone.intruded) break;
        yield* halting(story, call, every);
      }
  },
  "a process is frozen, and continues when another one has its journal": (base, every) =>
    paired((first) =>
      each(
        first,
        every,
        (wakesAt) => tellStory({ ...base, stops: [first], wakesAt }),
        ({ woke, halted }) => !woke || halted < 1,
      ),
    ),
} as const satisfies Record<string, Stories>;

export const changed = (client: ImportClient, index: number): ImportClient => {
  const document = { name: "new.pdf", type: "w2", externalId: `new-${index}` };
  return {
    ...client,
    artifacts: [...(client.artifacts ?? []), { ...document, url: `https://files.example/${index}` }],
  };
};

/** Imports with processes that halt, and a last one that does not. */
export async function tellStory(story: Story): Promise<StoryEnd> {
  const { clients, stops = [], lost = 0, intruder, hasApiKey = true, hidesTasks } = story;
  await using fixture = await createImportFixture();
  const { mock } = fixture;
  const durable = new MemoryJournal();
  const processes: CrashingProcess[] = [];
  const intruding = intruder && intrudes(fixture, intruder);
  let woke = false;
  let halted = 0;
  const serve: typeof mock.fetch = async (url, init) => {
    if (hidesTasks && String(Object(init).body).includes("ListTasks")) return noTasks();
    return intruding ? intruding.fetch(url, init) : mock.fetch(url, init);
  };
  const options = {
    durable,
    serve,
    worksPerJob: 2,
    onChanged: story.changes ? "import" : "report",
    clientOptions: hasApiKey ? {} : { apiKey: undefined },
  } as const;
  const start = (input: readonly ImportClient[], haltAt?: number, onStep = (_: number) => {}) => {
    const process = startProcess(fixture, { ...options, clients: input, onStep, ...(haltAt && { haltAt }) });
    processes.push(process);
    return process.ended;
  };

  let input = clients;
  let ended = await start(input, stops[0]);
  const takesOver = stops.length > 0 || lost > 0 || story.changes || intruder;
  if (takesOver) {
    if (ended === "halted") halted = 1;
    durable.entries.splice(Math.max(0, durable.entries.length - lost));
    input = story.changes ? clients.map(changed) : clients;
    const onStep = (step: number) => {
      if (step !== story.wakesAt || woke) return;
      woke = true;
      processes[0]?.continue();
    };
    for (const [index, haltAt] of [...stops.slice(1), undefined].entries()) {
      ended = await start(index === 0 ? [...input].reverse() : input, haltAt, onStep);
      if (ended !== "halted") break;
      halted = 2 + index;
    }
  }
  if (ended === "halted") throw new Error("expected the last process to end");
  if (woke) await mock.clock.runUntil(processes[0]?.result.catch(() => {}) as Promise<unknown>);
  const all = await fixture.problems(ended, input, {
    changed: new Set(story.changes ? input.map(({ externalId }) => externalId) : []),
  });
  // An older journal cannot say which documents were attached since.
  const problems = lost > 0 ? all.filter((problem) => !problem.includes("has the documents")) : all;
  const steps = processes.slice(0, -1).map((process) => process.steps.at(-1));
  const told = [
    intruder && `${intruder.act} before call ${intruder.call}`,
    `${lost} entries lost`,
    woke && `the first continues at step ${story.wakesAt}`,
    ...steps,
  ];
  return {
    problems: problems.map((problem) => `${problem}, after: ${told.filter(Boolean).join(", ")}`),
    halted,
    woke,
    intruded: intruding?.intruded() ?? false,
    undecided: ended.counts.undecided,
  };
}

/**
 * What a person may do in the web app, or the service by itself: start the newest job, or close it, so that nothing of it is
 * imported.
 */
export function intrudes({ mock, createClient }: ImportFixture, intruder: NonNullable<Story["intruder"]>) {
  let calls = 0;
  let intruded = false;
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
      if (++calls === intruder.call) {
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
