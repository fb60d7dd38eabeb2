// A chunk: the clients that share a job. One request adds all works of a job, so the job has all of them or none:
//
//   files uploaded ──► job created ──works?──► works added ──attach?──► attached ──start?──► started
//                                    │ rejected: the parts in other jobs   │ in doubt, or rejected for a client: abandoned;
//                                    │ in doubt: sent again                │ the others, with derived external ids, in another job
//
// A word with a question mark is an entry of the journal that is durable before the request is sent.

import type { WorkspaceTasksError } from "../errors.ts";
import { beforeSend, type OwnCallOptions } from "../options.ts";
import { findExisting } from "./find-existing.ts";
import { type CheckedClients, method } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";
import { type ImportJob, type JournalEntry, type WorkMode, workExternalId } from "./import-state.ts";
import { checkWorks, decideOnEvidence, decideOnWorks, halves, isStarted } from "./outcome-policy.ts";
import { failuresMax } from "./settle.ts";
import { attachable, uploadFiles } from "./upload-files.ts";

export interface Chunk {
  /** By external id. Of a job of an earlier process, those that the input has. */
  readonly clients: CheckedClients;
  readonly mode: WorkMode;
  /** The job of an earlier process. */
  readonly job?: ImportJob | undefined;
  /** How often a job with this client alone was abandoned. */
  readonly attempts?: number;
}

type Next = Promise<readonly Chunk[]>;

const doubted = (mode: WorkMode): WorkMode => (mode === "new" ? "doubt" : mode);

/** Imports a chunk. Resolves to the chunks that take its place. */
export async function importChunk(run: ImportRun, chunk: Chunk): Next {
  const { state, parts, record, spareJobs } = run;
  const { jobs, works } = parts;

  /** These clients, as far as the input has them. */
  function part(externalIds: readonly string[], mode: WorkMode): Chunk {
    const isOf = new Set(externalIds);
    return { clients: new Map([...chunk.clients].filter(([externalId]) => isOf.has(externalId))), mode };
  }

  async function createJob(): Promise<(typeof spareJobs)[number]> {
    const { connectionId, jobName } = run.options;
    const number = ++state.jobCount;
    const input = { connectionId, jobName: number === 1 ? jobName : `${jobName} (${number})` };
    // Of a job without works nothing comes: after an unknown outcome another one is created.
    const settled = await run.call((call) => jobs.create(input, call));
    if (settled.ok) return { ...settled.value, number };
    throw settled.error;
  }

  async function addWorks(job: ImportJob, ready: CheckedClients, isDoubted = false): Next {
    // Their ids come in the same order.
    const inputs = job.clients.flatMap((externalId) => {
      const client = ready.get(externalId);
      return client ? [{ ...client.work, externalId: workExternalId(externalId, job) }] : [];
    });
    const settled = await run.call(async (call) =>
      checkWorks(await jobs.addWorks(job.id, inputs, call), inputs.length),
    );
    if (!settled.ok) return rejected(job, settled.error, isDoubted || settled.wasInDoubt);
    const [ids, workIds] = [settled.value.map(({ id }) => id), settled.value.map(({ workId }) => workId)];
    await record(["works", job.number, ids, workIds]);
    return attach(job, ready);
  }

  async function rejected(job: ImportJob, error: WorkspaceTasksError, isDoubted: boolean): Next {
    const { clients } = job;
    const mode = isDoubted ? doubted(job.mode) : job.mode;
    const decision = decideOnWorks(error, mode, clients);
    if (decision === "end") throw error;
    if (decision === "look_up") return lookUp(job);
    if (decision === "derive") return abandonDoubted(job, error);
    const [first = ""] = clients;
    await record(["next", mode, clients]);
    if (!isDoubted) spareJobs.push(job);
    if (decision === "fail") state.fail(first, error);
    if (decision === "exists") await record(["settled", "exists", first, error.code, error.message]);
    return typeof decision === "string" ? [] : decision.map((each) => part(each, mode));
  }

  async function lookUp({ clients, workspaceId }: ImportJob): Next {
    const existing = await findExisting(run, clients, workspaceId);
    const { derive, again, undecided } = decideOnEvidence(clients, existing);
    const settled = undecided.map(asUndecided(undecidedText));
    await record(...settled, ["next", "derived", derive], ["next", "doubt", again.flat()]);
    return [part(derive, "derived"), ...again.map((each) => part(each, "doubt"))];
  }

  async function attach(job: ImportJob, ready: CheckedClients): Next {
    run.enter("attaching");
    let doubt: WorkspaceTasksError | undefined;
    await run.forEach([...ready], async ([externalId, { artifacts }]) => {
      const { work: [jobWorkId] = [""], uploads } = state.client(externalId);
      // A job in doubt needs no more artifacts.
      if (doubt || artifacts.length === 0) return;
      // Not before it waits for the rate limit: what a killed process leaves in doubt are the requests on their way.
      const noteIntent = () => record(["attach?", externalId]);
      const settled = await run.call((call) => {
        const own: OwnCallOptions = { ...call, [beforeSend]: noteIntent };
        const inputs = artifacts.map((artifact) => attachable(artifact, uploads));
        return works.attachArtifacts(jobWorkId, inputs, own);
      }, false);
      if (settled.ok) await record(["attach", externalId]);
      else if (settled.error.outcome === "unknown") doubt = settled.error;
      else state.fail(externalId, settled.error);
    });
    if (doubt) return abandonDoubted(job, doubt);
    // The others have nothing to do with those that failed, and need no smaller job.
    const isSpoilt = state.openIn(job).length < job.clients.length;
    return isSpoilt ? [await abandon(job, "derived")] : start(job);
  }

  async function start(job: ImportJob): Next {
    const wasStarting = job.isStarting;
    run.enter("starting");
    if (!wasStarting) await record(["start?", job.number]);
    const settled = await run.call((call) => jobs.startImport(job.id, call));
    if (settled.ok || isStarted(settled.error, wasStarting || settled.wasInDoubt))
      await record(["start", job.number]);
    else if (settled.error.code === "CONFLICT")
      await record(...job.clients.map(asUndecided(`${settled.error.message}; ${lookForTask}`)));
    else for (const externalId of job.clients) state.fail(externalId, settled.error);
    return [];
  }

  /** Abandons a job that has, or may have, works, and tries its clients in smaller ones. */
  async function abandonDoubted(job: ImportJob, error: WorkspaceTasksError): Next {
    const next = await abandon(job, "derived");
    const [first = "", ...others] = next.clients.keys();
    if (others.length > 0) return halves([first, ...others]).map((half) => part(half, "derived"));
    const attempts = (chunk.attempts ?? 0) + 1;
    if (attempts < failuresMax) return [{ ...next, attempts }];
    state.fail(first, error);
    return [];
  }

  /** The job is never started. @returns its clients that need another one */
  async function abandon(job: ImportJob, mode: WorkMode): Promise<Chunk> {
    const open = state.openIn(job);
    await record(["next", mode, open]);
    return part(open, mode);
  }

  /** Continues a job, unless its artifacts are in doubt, or some of its clients have left it, have failed or are missing. */
  async function resume(job: ImportJob): Next {
    if (job.isStarting) return start(job);
    // The others have their works and artifacts in another job.
    const members = job.clients
      .map((externalId) => state.client(externalId))
      .filter((each) => each.job === job);
    const hasWorks = members.some(({ work }) => work !== undefined);
    const isWhole = members.length === job.clients.length;
    if (isWhole && !members.some(({ artifacts }) => artifacts === "sent")) {
      const isAttached = (externalId: string) => state.client(externalId).artifacts === "attached";
      const unattached = job.clients.filter((externalId) => !isAttached(externalId));
      const ready = await uploadFiles(run, part(unattached, job.mode).clients);
      const isComplete = unattached.every((externalId) => ready.has(externalId));
      if (isComplete) return hasWorks ? attach(job, ready) : addWorks(job, ready, true);
    }
    return [await abandon(job, hasWorks ? "derived" : doubted(job.mode))];
  }

  if (chunk.job) return resume(chunk.job);
  const ready = await uploadFiles(run, chunk.clients);
  if (ready.size === 0) return [];
  run.enter("adding");
  const { number, id, workspaceId } = spareJobs.pop() ?? (await createJob());
  await record(["works?", number, id, workspaceId, chunk.mode, [...ready.keys()]]);
  return addWorks(state.job(number), ready);
}

const asUndecided =
  (message: string) =>
  (externalId: string): JournalEntry => ["settled", "undecided", externalId, "IMPORT_UNDECIDED", message];

const lookForTask = "look for a task of the client, and import it with another externalId if there is none";
const undecidedText =
  `${method}: the external id is used in this connection, by a request of this import whose response was lost or by ` +
  `something else; ${lookForTask}`;
