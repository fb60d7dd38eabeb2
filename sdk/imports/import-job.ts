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

import { type ErrorCode, WorkspaceTasksError } from "../errors.ts";
import type { ConnectionJob, JobWork } from "../operations/jobs.ts";
import { beforeSend, type OwnCallOptions } from "../options.ts";
import { type FailClients, type ReadyClient, settleKnown, uploadDocuments } from "./documents.ts";
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
}

// The tasks of a job that was started a moment ago may not be there yet.
const looksMax = 5;

/** Imports the clients of a chunk, until each is settled. */
export async function importChunk(run: ImportRun, chunk: Chunk): Promise<void> {
  const { state, record, lookUp } = run;
  const { jobs, works } = run.parts;

  async function begin(): Promise<void> {
    // First of all: it shows whether the connection is active, and the workspace to look clients up in.
    const number = ++state.jobCount;
    const { id, workspaceId } = await createJob(number);
    if (chunk.mode === "new") await settleFound([...chunk.clients.keys()], workspaceId);
    const ready = await uploadDocuments(run, openOf(chunk.clients.keys()), failIn(workspaceId));
    if (ready.size === 0) return;
    await record(["works?", number, id, workspaceId, chunk.mode, [...ready.keys()]]);
    await addWorks(state.job(number), ready);
  }

  async function createJob(number: number): Promise<ConnectionJob> {
    const { connectionId, jobName } = run.options;
    const input = { connectionId, jobName: number === 1 ? jobName : `${jobName} (${number})` };
    // Nothing comes of a job without works: after an unknown outcome another one is created.
    const settled = await run.call((call) => jobs.create(input, call));
    if (settled.ok) return settled.value;
    throw settled.error;
  }

  async function addWorks(job: ImportJob, ready: ReadonlyMap<string, ReadyClient>): Promise<void> {
    // Their ids come in the same order.
    const inputs = job.clients.flatMap((externalId) => {
      const work = ready.get(externalId)?.client.work;
      return work ? [{ ...work, externalId: workExternalId(externalId, job) }] : [];
    });
    const settled = await run.call(async (call) =>
      checkWorks(await jobs.addWorks(job.id, inputs, call), inputs.length),
    );
    if (!settled.ok) return rejected(job, settled.error, settled.wasInDoubt || job === chunk.job);
    const [ids, workIds] = [settled.value.map(({ id }) => id), settled.value.map(({ workId }) => workId)];
    await record(["works", job.number, ids, workIds]);
    await attach(job, ready);
  }

  /** `CONFLICT` is one of three: an external id is used, the job accepts no works, or an earlier request took effect. */
  async function rejected(job: ImportJob, error: WorkspaceTasksError, isDoubted: boolean): Promise<void> {
    const { clients, mode, workspaceId } = job;
    const isConflict = error.code === "CONFLICT";
    if (!isConflict && !isAboutInput(error)) throw error;
    const [first = ""] = clients;
    const { attempts = 0 } = state.client(first);
    const isAlone = clients.length === 1;
    // Another job has rejected it before.
    const isDecided = isConflict && isAlone && mode === "new" && attempts > 0;
    if (isConflict && isDoubted && !isDecided) return abandon(job, clients, error);
    await record(["next", mode, clients]);
    count(clients);
    if (isDecided) {
      // The external id is used. Whether by a client that has a task, the service says.
      const found = await settleFound(clients, workspaceId);
      const noTask = `${error.message}, and the service shows no task of it; ${lookForTask}`;
      doubt(clients, found ? noTask : cannotLook);
    } else if (isAlone && !isConflict) await failIn(workspaceId)(clients, error);
    else await oneByOne(clients, workspaceId, error);
  }

  async function attach(job: ImportJob, ready: ReadonlyMap<string, ReadyClient>): Promise<void> {
    const inQuestion: string[] = [];
    let problem: WorkspaceTasksError | undefined;
    let isClosed = false;
    await run.forEach(ready.entries(), run.callsPerJob, async ([externalId, { documents, inputs }]) => {
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
      if (error.outcome !== "unknown") await failIn(job.workspaceId)([externalId], error);
    });
    if (isClosed) return notPending(job);
    await (problem ? abandon(job, inQuestion, problem) : start(job));
  }

  async function start(job: ImportJob): Promise<void> {
    const wasStarting = job.isStarting;
    // The last moment: what has a task already, by a work that was given up, or by an end of the journal that is lost, gets
    // no second one.
    if (!wasStarting && (chunk.job || job.mode !== "new")) {
      const found = await settleFound(state.openIn(job), job.workspaceId);
      if (!found && job.mode !== "new") return doubt(state.openIn(job), cannotLook);
      if (found?.some(({ jobId }) => jobId === job.id)) return notPending(job);
      if (found && found.length > 0) return abandon(job, [], undefined);
    }
    if (!wasStarting) await record(["start?", job.number]);
    const settled = await run.call((call) => jobs.startImport(job.id, call));
    if (settled.ok) await started(job);
    else if (settled.error.code === "CONFLICT" || settled.wasInDoubt || wasStarting) await notPending(job);
    else await failIn(job.workspaceId)(state.openIn(job), settled.error);
  }

  async function started(job: ImportJob): Promise<void> {
    const clients = openOf(state.openIn(job));
    await record(["start", job.number]);
    for (const client of clients) {
      // What an earlier process has attached may have changed since.
      if (chunk.job) await settleKnown(run, client, "imported");
      else state.settle(client.externalId, "imported");
    }
  }

  /** Something has started or closed the job, or an earlier request may have. A task of it shows which: if it was to be started, all works are imported. */
  async function notPending(job: ImportJob): Promise<void> {
    for (let look = 1; look <= looksMax && state.openIn(job).length > 0; look++) {
      const found = await lookUp.find(state.openIn(job), job.workspaceId);
      const isStarted = [...(found?.values() ?? [])].flat().some(({ jobId }) => jobId === job.id);
      if (isStarted && job.isStarting) return started(job);
      if (!found || isStarted || look === looksMax) break;
      await run.scope.sleep(1_000 * 2 ** look);
    }
    await settleFound(state.openIn(job), job.workspaceId);
    const message = `its job ${job.id} may have been started or closed, and no task of it was found; ${lookForTask}`;
    doubt(state.openIn(job), message);
  }

  /** The job is never started. Its clients go on under derived external ids, those in question one by one. */
  async function abandon(
    job: ImportJob,
    inQuestion: readonly string[],
    error: WorkspaceTasksError | undefined,
  ): Promise<void> {
    const open = state.openIn(job);
    const alone = open.filter((externalId) => inQuestion.includes(externalId));
    const others = open.filter((externalId) => !inQuestion.includes(externalId));
    if (alone.length > 0) await record(["next", "alone", alone]);
    if (others.length > 0) await record(["next", "derived", others]);
    count(alone);
    const together = byExternalId(openOf(others));
    if (together.size > 0) await importChunk(run, { clients: together, mode: "derived" });
    await oneByOne(alone, job.workspaceId, error);
  }

  /** Continues a job, unless documents are in doubt, or some of its clients have left it, have failed or are missing. */
  async function resume(job: ImportJob): Promise<void> {
    if (job.isStarting) return start(job);
    const members = state.openIn(job);
    const inQuestion = members.filter((externalId) => state.client(externalId).attaching === "sent");
    if (members.length === job.clients.length && inQuestion.length === 0) {
      const unattached = members.filter((externalId) => state.client(externalId).attaching !== "attached");
      const ready = await uploadDocuments(run, openOf(unattached), failIn(job.workspaceId));
      const hasWorks = members.some((externalId) => state.client(externalId).workId !== undefined);
      if (unattached.every((externalId) => ready.has(externalId)))
        return hasWorks ? attach(job, ready) : addWorks(job, ready);
    }
    await abandon(job, inQuestion, undefined);
  }

  /** Settles clients that have a task which the journal does not know. @returns these tasks, if the service can be asked */
  async function settleFound(
    externalIds: readonly string[],
    workspaceId: string,
  ): Promise<readonly FoundTask[] | undefined> {
    const tasks = await lookUp.find(externalIds, workspaceId);
    if (!tasks) return undefined;
    const found: FoundTask[] = [];
    for (const externalId of externalIds) {
      const { job, mode, earlier } = state.client(externalId);
      const isBegun = mode !== "new" || job !== undefined;
      const isUnknown = ({ workId }: FoundTask) =>
        workId === undefined ? !isBegun : !earlier?.some((work) => work.isImported && work.workId === workId);
      const task = tasks.get(externalId)?.find(isUnknown);
      if (!task) continue;
      found.push(task);
      const { jobId, workId } = task;
      if (!isBegun || jobId === undefined || workId === undefined) state.settle(externalId, "exists");
      else {
        await record(["found", externalId, jobId, workId, task.mode]);
        for (const client of openOf([externalId])) await settleKnown(run, client, "imported");
      }
    }
    return found;
  }

  /** These clients, as far as the input has them, and nothing has settled them. */
  function openOf(externalIds: Iterable<string>): readonly CheckedClient[] {
    return [...externalIds].flatMap((externalId) => {
      const client = chunk.clients.get(externalId);
      return client && !state.client(externalId).status ? [client] : [];
    });
  }

  /** Each gets a job of its own, unless too many have ended with this error. */
  async function oneByOne(
    externalIds: readonly string[],
    workspaceId: string,
    error: WorkspaceTasksError | undefined,
  ): Promise<void> {
    for (const client of openOf(externalIds)) {
      const { attempts = 0, mode } = state.client(client.externalId);
      if (error && attempts >= failuresMax) await failIn(workspaceId)([client.externalId], error);
      else await importChunk(run, { clients: byExternalId([client]), mode });
    }
  }

  function count(externalIds: readonly string[]): void {
    for (const externalId of externalIds) {
      const client = state.client(externalId);
      client.attempts = (client.attempts ?? 0) + 1;
    }
  }

  /** A client with a task has not failed: an earlier work of it may have been started, which the journal does not show. */
  function failIn(workspaceId: string): FailClients {
    // `begin` has looked up those that are new.
    const isLookedUp = !chunk.job && chunk.mode === "new";
    return async (externalIds, error, document) => {
      const found = isLookedUp || (await settleFound(externalIds, workspaceId));
      if (!found) return doubt(externalIds, `${error.message}; ${cannotLook}`);
      for (const externalId of externalIds) run.settle(externalId, "failed", error, document);
    };
  }

  function doubt(externalIds: readonly string[], message: string): void {
    for (const externalId of externalIds) run.doubt(externalId, message);
  }

  await (chunk.job ? resume(chunk.job) : begin());
}

const cannotLook =
  "whether it has a task cannot be looked up: the client needs an apiKey of the workspace that may read; then call again";
const lookForTask = "look for a task of the client, and import it with another externalId if there is none";

const byExternalId = (clients: readonly CheckedClient[]): CheckedClients =>
  new Map(clients.map((client) => [client.externalId, client]));

const inputCodes: readonly ErrorCode[] = ["ARGUMENT_INVALID", "INPUT_INVALID", "DOCUMENT_INVALID"];

/** The service rejected what the request says, and not that it was sent. */
const isAboutInput = ({ code, httpStatus }: WorkspaceTasksError): boolean =>
  inputCodes.includes(code) ||
  (code === "HTTP_REQUEST_REJECTED" && (httpStatus === 413 || httpStatus === 400));

/** The ids of the works decide what documents are attached to: one that is missing makes the outcome unknown. */
function checkWorks(works: readonly JobWork[], count: number): readonly JobWork[] {
  const given: readonly (Partial<JobWork> | null)[] = Array.isArray(works) ? works : [];
  const isId = (id: unknown) => typeof id === "string" && id !== "";
  if (given.length === count && given.every((work) => isId(work?.id) && isId(work?.workId))) return works;
  const message = `partner.jobs.addWorks: expected ${count} works with ids, got others`;
  throw new WorkspaceTasksError("RESPONSE_INVALID", message, { outcome: "unknown" });
}
