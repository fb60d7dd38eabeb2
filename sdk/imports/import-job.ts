// A job: the clients that share it are imported together. One request adds all works of a job, so it has all of them or none.
//
//   created ──► files uploaded ──works?──► works added ──attach?──► attached ──start?──► started
//                                   │ rejected as a whole: its clients go on one by one
//                                   │ in doubt, or some client in question: abandoned, and never started;
//                                   ▼ the others go on together, those in question one by one, under derived ids
//
// A word with a question mark is an entry of the journal that is durable before the request is sent. Nothing with an effect is
// decided without evidence: before a job of derived ids, or of an earlier process, is started, the service is asked for tasks
// of its clients.

import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { ConnectionJob, JobWork } from "../operations/jobs.ts";
import { beforeSend, type OwnCallOptions } from "../options.ts";
import { changedDocuments, type ReadyClient, uploadDocuments } from "./documents.ts";
import type { CheckedClient, CheckedClients } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";
import { type ImportJob, type WorkMode, workExternalId } from "./import-state.ts";
import type { FoundTask } from "./look-up.ts";
import { failuresMax } from "./settle.ts";

/** Clients that go on together. */
export interface Chunk {
  /** By external id. Of a job of an earlier process, those that the input has. */
  readonly clients: CheckedClients;
  readonly mode: WorkMode;
  /** The job of an earlier process. */
  readonly job?: ImportJob | undefined;
  /** How often a job with this client was rejected or abandoned, since it is alone. */
  readonly attempts?: number;
}

type Next = Promise<readonly Chunk[]>;

// The tasks of a job that was started a moment ago may not be there yet.
const looksMax = 5;

/** Imports a chunk. Resolves to the chunks that take its place. */
export async function importChunk(run: ImportRun, chunk: Chunk): Next {
  const { state, record, lookUp } = run;
  const { jobs, works } = run.parts;
  const attempts = chunk.attempts ?? 0;

  async function begin(): Next {
    // First of all: it shows whether the connection is active, and the workspace to look clients up in.
    const number = ++state.jobCount;
    const { id, workspaceId } = await createJob(number);
    if (chunk.mode === "new") await settleFound([...chunk.clients.keys()], workspaceId);
    const ready = await uploadDocuments(run, openOf(chunk.clients.keys()));
    if (ready.size === 0) return [];
    await record(["works?", number, id, workspaceId, chunk.mode, [...ready.keys()]]);
    return addWorks(state.job(number), ready, false);
  }

  async function createJob(number: number): Promise<ConnectionJob> {
    const { connectionId, jobName } = run.options;
    const input = { connectionId, jobName: number === 1 ? jobName : `${jobName} (${number})` };
    // Of a job without works nothing comes: after an unknown outcome another one is created.
    const settled = await run.call((call) => jobs.create(input, call));
    if (settled.ok) return settled.value;
    throw settled.error;
  }

  async function addWorks(job: ImportJob, ready: ReadonlyMap<string, ReadyClient>, isDoubted: boolean): Next {
    // Their ids come in the same order.
    const inputs = job.clients.flatMap((externalId) => {
      const work = ready.get(externalId)?.client.work;
      return work ? [{ ...work, externalId: workExternalId(externalId, job) }] : [];
    });
    const settled = await run.call(async (call) =>
      checkWorks(await jobs.addWorks(job.id, inputs, call), inputs.length),
    );
    if (!settled.ok) return rejected(job, settled.error, isDoubted || settled.wasInDoubt);
    const [ids, workIds] = [settled.value.map(({ id }) => id), settled.value.map(({ workId }) => workId)];
    await record(["works", job.number, ids, workIds]);
    return attach(job, ready);
  }

  /** `CONFLICT` is one of three: an external id is used, the job accepts no works, or an earlier request took effect. */
  async function rejected(job: ImportJob, error: WorkspaceTasksError, isDoubted: boolean): Next {
    const { clients, mode } = job;
    const isConflict = error.code === "CONFLICT";
    if (!isConflict && !isAboutInput(error)) throw error;
    const [first = ""] = clients;
    const isOne = clients.length === 1;
    // Rejected alone, by two jobs.
    const isDecided = isConflict && isOne && mode === "new" && attempts > 0;
    if (isConflict && isDoubted && !isDecided) return abandon(job, clients, error);
    await record(["next", mode, clients]);
    if (isDecided) {
      // The external id is used. Whether by a client that has a task, the service says.
      const found = await settleFound(clients, job.workspaceId);
      const noTask = `${error.message}, and the service shows no task of it; ${lookForTask}`;
      doubt(clients, found ? noTask : cannotLook);
      return [];
    }
    if (isOne && (!isConflict || attempts + 1 >= failuresMax)) {
      fail(first, error);
      return [];
    }
    return oneByOne(clients);
  }

  async function attach(job: ImportJob, ready: ReadonlyMap<string, ReadyClient>): Next {
    const inQuestion: string[] = [];
    let problem: WorkspaceTasksError | undefined;
    let isClosed = false;
    await run.forEach([...ready], async ([externalId, { documents, inputs }]) => {
      const { jobWorkId = "" } = state.client(externalId);
      // A job that is abandoned needs no more documents.
      if (problem || isClosed || inputs.length === 0) return;
      // Not before it waits for the rate limit: what a killed process leaves in doubt are the requests on their way.
      const noteIntent = () => record(["attach?", externalId, documents]);
      const settled = await run.call((call) => {
        const own: OwnCallOptions = { ...call, [beforeSend]: noteIntent };
        return works.attachArtifacts(jobWorkId, inputs, own);
      }, false);
      if (settled.ok) return record(["attach", externalId]);
      const { error } = settled;
      if (error.code === "CONFLICT" && error.outcome !== "unknown") {
        isClosed = true;
        return;
      }
      inQuestion.push(externalId);
      problem = error;
      if (error.outcome !== "unknown") fail(externalId, error);
    });
    if (isClosed) return notPending(job);
    return problem ? abandon(job, inQuestion, problem) : start(job);
  }

  async function start(job: ImportJob): Next {
    const wasStarting = job.isStarting;
    // The last moment: what has a task already, by a work that was given up, or by an end of the journal that is lost, gets
    // no second one.
    if (!wasStarting && (chunk.job || job.mode !== "new")) {
      const found = await settleFound(state.openIn(job), job.workspaceId);
      if (!found && job.mode !== "new") {
        doubt(state.openIn(job), cannotLook);
        return [];
      }
      const tasks = [...(found?.values() ?? [])];
      if (tasks.some(({ jobId }) => jobId === job.id)) return notPending(job);
      if (tasks.length > 0) return abandon(job, [], undefined);
    }
    if (!wasStarting) await record(["start?", job.number]);
    const settled = await run.call((call) => jobs.startImport(job.id, call));
    if (settled.ok) return started(job);
    if (settled.error.code === "CONFLICT") return notPending(job);
    for (const externalId of job.clients) fail(externalId, settled.error);
    return [];
  }

  async function started(job: ImportJob): Next {
    const clients = openOf(state.openIn(job));
    await record(["start", job.number]);
    for (const client of clients) {
      // What an earlier process has attached may have changed since.
      if (chunk.job) await settleKnown(run, client, "imported");
      else state.settle(client.externalId, "imported");
    }
    return [];
  }

  /** Something has started or closed the job. A task of it shows which: then all of its works are imported. */
  async function notPending(job: ImportJob): Next {
    for (let look = 1; look <= looksMax && state.openIn(job).length > 0; look++) {
      const found = await lookUp.find(state.openIn(job), job.workspaceId);
      const isStarted = [...(found?.values() ?? [])].flat().some(({ jobId }) => jobId === job.id);
      if (isStarted && job.isStarting) return started(job);
      if (found === undefined || isStarted || look === looksMax) break;
      await run.scope.sleep(1_000 * 2 ** look);
    }
    await settleFound(state.openIn(job), job.workspaceId);
    doubt(
      state.openIn(job),
      `its job ${job.id} was started or closed, and no task of it was found; ${lookForTask}`,
    );
    return [];
  }

  /** The job is never started. Its clients go on under derived external ids, those in question one by one. */
  async function abandon(
    job: ImportJob,
    inQuestion: readonly string[],
    error: WorkspaceTasksError | undefined,
  ): Next {
    const open = state.openIn(job);
    const alone = open.filter((externalId) => inQuestion.includes(externalId));
    const others = open.filter((externalId) => !inQuestion.includes(externalId));
    if (alone.length > 0) await record(["next", "alone", alone]);
    if (others.length > 0) await record(["next", "derived", others]);
    if (attempts + 1 >= failuresMax && error) {
      for (const externalId of open) fail(externalId, error);
      return [];
    }
    return [...chunkOf(openOf(others), "derived"), ...oneByOne(alone)];
  }

  /** Continues a job, unless documents are in doubt, or some of its clients have left it, have failed or are missing. */
  async function resume(job: ImportJob): Next {
    if (job.isStarting) return start(job);
    const members = state.openIn(job);
    const inQuestion = members.filter((externalId) => state.client(externalId).attaching === "sent");
    if (members.length === job.clients.length && inQuestion.length === 0) {
      const unattached = members.filter((externalId) => state.client(externalId).attaching !== "attached");
      const ready = await uploadDocuments(run, openOf(unattached));
      const hasWorks = members.some((externalId) => state.client(externalId).workId !== undefined);
      if (unattached.every((externalId) => ready.has(externalId)))
        return hasWorks ? attach(job, ready) : addWorks(job, ready, true);
    }
    return abandon(job, inQuestion, undefined);
  }

  /** Settles those that have a task which the journal does not know. `undefined`: the service cannot be asked. */
  async function settleFound(
    externalIds: readonly string[],
    workspaceId: string,
  ): Promise<ReadonlyMap<string, FoundTask> | undefined> {
    const tasks = await lookUp.find(externalIds, workspaceId);
    if (!tasks) return undefined;
    const settled = new Map<string, FoundTask>();
    for (const externalId of externalIds) {
      const { job, mode, earlier } = state.client(externalId);
      const isBegun = mode !== "new" || job !== undefined;
      const isUnknown = ({ workId }: FoundTask) =>
        workId === undefined ? !isBegun : !earlier?.includes(workId);
      const task = tasks.get(externalId)?.find(isUnknown);
      if (!task) continue;
      settled.set(externalId, task);
      const { jobId, workId } = task;
      if (jobId !== undefined && workId !== undefined && isBegun)
        await settleStarted(externalId, { jobId, workId, mode: task.mode });
      else state.settle(externalId, "exists");
    }
    return settled;
  }

  /** Its task is there. With its documents, as far as the journal knows them. */
  async function settleStarted(
    externalId: string,
    task: { jobId: string; workId: string; mode: WorkMode },
  ): Promise<void> {
    await record(["found", externalId, task.jobId, task.workId, task.mode]);
    const client = chunk.clients.get(externalId);
    if (client) await settleKnown(run, client, "imported");
  }

  /** These clients, as far as the input has them, and nothing has settled them. */
  function openOf(externalIds: Iterable<string>): readonly CheckedClient[] {
    return [...externalIds].flatMap((externalId) => {
      const client = chunk.clients.get(externalId);
      return client && !state.client(externalId).status ? [client] : [];
    });
  }

  const oneByOne = (externalIds: readonly string[]): readonly Chunk[] =>
    openOf(externalIds).flatMap((client) =>
      chunkOf([client], state.client(client.externalId).mode, chunk.clients.size === 1 ? attempts + 1 : 0),
    );

  function fail(externalId: string, error: WorkspaceTasksError): void {
    state.settle(externalId, "failed", run.clientError(error, externalId));
  }

  function doubt(externalIds: readonly string[], message: string): void {
    for (const externalId of externalIds)
      state.settle(externalId, "undecided", undecided(run, externalId, message));
  }

  return chunk.job ? resume(chunk.job) : begin();
}

/** Settles a client that was imported, by this call or one before. @returns whether it gets a second work instead */
export async function settleKnown(
  run: ImportRun,
  client: CheckedClient,
  status: "imported" | "unchanged",
): Promise<boolean> {
  const { externalId } = client;
  const changed = await changedDocuments(run, client).catch((error: unknown) => {
    if (run.scope.failure || !isWorkspaceTasksError(error, "UPLOAD_BODY_INVALID")) throw error;
    return error;
  });
  // A document that cannot be read is no matter of the others.
  if (isWorkspaceTasksError(changed)) run.state.settle(externalId, "undecided", changed);
  else if (changed === undefined) {
    const message = `it was imported, and whether with its documents is not known; look at its task, and ${addThem}`;
    run.state.settle(externalId, "undecided", undecided(run, externalId, message));
  } else if (changed.length === 0) run.state.settle(externalId, status);
  else if (status === "unchanged" && run.options.onChanged === "import") return true;
  else {
    const names = changed.map((name) => `"${name}"`).join(", ");
    const what = `documents that are new or have changed since it was imported were not sent: ${names}`;
    const message = `${what}; call with onChanged: "import" for a second work, or ${addThem}`;
    run.state.settle(externalId, "changed", run.clientError({ code: "IMPORT_CHANGED", message }, externalId));
  }
  return false;
}

const cannotLook =
  "whether it has a task cannot be looked up: the client needs an apiKey of the workspace that may read; then call again";
const addThem = "add missing documents with taxClients.addDocuments";
const lookForTask = "look for a task of the client, and import it with another externalId if there is none";

const undecided = (run: ImportRun, externalId: string, message: string) =>
  run.clientError({ code: "IMPORT_UNDECIDED", message, outcome: "unknown" }, externalId);

function chunkOf(clients: readonly CheckedClient[], mode: WorkMode, attempts = 0): readonly Chunk[] {
  if (clients.length === 0) return [];
  return [{ clients: new Map(clients.map((client) => [client.externalId, client])), mode, attempts }];
}

/** The service rejected what the request says, and not that it was sent. */
function isAboutInput({ code, httpStatus }: WorkspaceTasksError): boolean {
  if (code === "HTTP_REQUEST_REJECTED") return httpStatus === 413 || httpStatus === 400;
  return code === "ARGUMENT_INVALID" || code === "INPUT_INVALID" || code === "DOCUMENT_INVALID";
}

/** The ids of the works decide what documents are attached to: one that is missing makes the outcome unknown. */
function checkWorks(works: readonly JobWork[], count: number): readonly JobWork[] {
  const given: readonly (Partial<JobWork> | null)[] = Array.isArray(works) ? works : [];
  const isId = (id: unknown) => typeof id === "string" && id !== "";
  if (given.length === count && given.every((work) => isId(work?.id) && isId(work?.workId))) return works;
  const message = `partner.jobs.addWorks: expected ${count} works with ids, got others`;
  throw new WorkspaceTasksError("RESPONSE_INVALID", message, { outcome: "unknown" });
}
