// A chunk: the clients that share a job. One request adds all works of a job, so the job has all of them or none:
//
//   files uploaded ──► job created ──job──► works added ──works, attach──► attached ──start?──► started
//                                    │ rejected: the parts in other jobs   │ in doubt, or rejected for a client: abandoned;
//                                    │ in doubt: sent again                │ the others, with derived external ids, in another job
//
// A word on an arrow is an entry of the journal that is durable before the next request is sent.

import { FailureError } from "../call/failure.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { JobWork } from "../operations/jobs.ts";
import type { ArtifactInput } from "../operations/works.ts";
import { beforeSend, type OwnCallOptions } from "../options.ts";
import { findExisting } from "./find-existing.ts";
import { type CheckedClient, method } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";
import { type ImportJob, type JournalEntry, type WorkMode, workExternalId } from "./import-state.ts";
import { decideOnEvidence, decideOnWorks, halves, isStarted } from "./outcome-policy.ts";
import { failuresMax } from "./settle.ts";
import { type ReadyClients, uploadFiles } from "./upload-files.ts";

export interface Chunk {
  /** By external id. Of a job of an earlier process, those that the input has. */
  readonly clients: ReadonlyMap<string, CheckedClient>;
  readonly mode: WorkMode;
  /** The job of an earlier process. */
  readonly job?: ImportJob | undefined;
}

/** Imports a chunk. Resolves to the chunks that take its place. */
export const importChunk = (run: ImportRun, chunk: Chunk): Promise<readonly Chunk[]> =>
  new ChunkImport(run, chunk).run();

type Next = Promise<readonly Chunk[]>;

class ChunkImport {
  readonly #run: ImportRun;
  readonly #chunk: Chunk;
  #ready: ReadyClients = new Map();

  constructor(run: ImportRun, chunk: Chunk) {
    this.#run = run;
    this.#chunk = chunk;
  }

  async run(): Next {
    const { clients, mode, job } = this.#chunk;
    if (job) return this.#resume(job);
    this.#ready = await uploadFiles(this.#run, clients);
    if (this.#ready.size === 0) return [];
    this.#run.enter("adding");
    const { number, id, workspaceId } = await this.#createJob();
    await this.#record(["job", number, id, workspaceId, mode, [...this.#ready.keys()]]);
    return this.#addWorks(this.#run.state.job(number));
  }

  /** Continues a job, unless its artifacts are in doubt, or some of its clients have failed or are missing. */
  async #resume(job: ImportJob): Next {
    if (job.isStarting) return this.#start(job);
    const { state } = this.#run;
    const isDone = (externalId: string) => job.artifacts.get(state.client(externalId).index) === "done";
    const hasWorks = job.jobWorkIds.length > 0;
    if (![...job.artifacts.values()].includes("sent")) {
      const unattached = [...this.#chunk.clients].filter(([externalId]) => !isDone(externalId));
      this.#ready = await uploadFiles(this.#run, new Map(unattached));
      if (job.clients.every((externalId) => isDone(externalId) || this.#ready.has(externalId)))
        return hasWorks ? this.#attach(job) : this.#addWorks(job, true);
    }
    return [await this.#abandon(job, hasWorks ? "derived" : doubted(job.mode))];
  }

  async #createJob(): Promise<Pick<ImportJob, "number" | "id" | "workspaceId">> {
    const { state, options, parts, spareJobs } = this.#run;
    const spare = spareJobs.pop();
    if (spare) return spare;
    const { connectionId, jobName } = options;
    const number = ++state.jobCount;
    const input = { connectionId, jobName: number === 1 ? jobName : `${jobName} (${number})` };
    // Of a job without works nothing comes: after an unknown outcome another one is created.
    const settled = await this.#run.call((call) => parts.jobs.create(input, call));
    if (settled.ok) return { ...settled.value, number };
    throw settled.error;
  }

  async #addWorks(job: ImportJob, wasInDoubt = false): Next {
    const { jobs } = this.#run.parts;
    const works = job.clients.flatMap((externalId) => {
      const client = this.#ready.get(externalId);
      return client ? [{ ...client.work, externalId: workExternalId(externalId, job) }] : [];
    });
    const settled = await this.#run.call(async (call) =>
      checkWorks(await jobs.addWorks(job.id, works, call), works.length),
    );
    if (!settled.ok) return this.#rejected(job, settled.error, wasInDoubt || settled.wasInDoubt);
    const [ids, workIds] = [settled.value.map(({ id }) => id), settled.value.map(({ workId }) => workId)];
    await this.#record(["works", job.number, ids, workIds]);
    return this.#attach(job);
  }

  async #rejected(job: ImportJob, error: WorkspaceTasksError, wasInDoubt: boolean): Next {
    const { clients } = job;
    const mode = wasInDoubt ? doubted(job.mode) : job.mode;
    const decision = decideOnWorks(error, mode, clients);
    if (decision.type === "end") throw error;
    if (decision.type === "look_up") return this.#lookUp(job);
    if (decision.type === "derive") return this.#abandonDoubted(job, error);
    const [first = ""] = clients;
    const { code, message } = error;
    await this.#record(["next", mode, clients]);
    if (!wasInDoubt) this.#run.spareJobs.push(job);
    if (decision.type === "split") return decision.parts.map((part) => this.#part(part, mode));
    if (decision.type === "exists") await this.#record(["settled", "exists", first, code, message]);
    else this.#run.state.fail(first, error);
    return [];
  }

  async #lookUp({ clients, workspaceId }: ImportJob): Next {
    const existing = await findExisting(this.#run, clients, workspaceId);
    const { derive, again, undecided } = decideOnEvidence(clients, existing);
    await this.#record(
      ...undecided.map(asUndecided(undecidedText)),
      ["next", "derived", derive],
      ["next", "doubt", again.flat()],
    );
    return [this.#part(derive, "derived"), ...again.map((part) => this.#part(part, "doubt"))];
  }

  async #attach(job: ImportJob): Next {
    const { state } = this.#run;
    this.#run.enter("attaching");
    let doubt: WorkspaceTasksError | undefined;
    await this.#run.forEach(job.clients.entries(), async ([index, externalId]) => {
      const artifacts = this.#ready.get(externalId)?.artifacts ?? [];
      // A job in doubt needs no more artifacts.
      if (doubt || artifacts.length === 0) return;
      const settled = await this.#attachTo(job, index, artifacts);
      if (settled.ok) await this.#record(["attach", job.number, index, "done"]);
      else if (settled.error.outcome === "unknown") doubt = settled.error;
      else state.fail(externalId, settled.error);
    });
    if (doubt) return this.#abandonDoubted(job, doubt);
    // The others have nothing to do with those that failed, and need no smaller job.
    const isSpoilt = state.openIn(job).length < job.clients.length;
    return isSpoilt ? [await this.#abandon(job, "derived")] : this.#start(job);
  }

  async #attachTo(job: ImportJob, index: number, artifacts: readonly ArtifactInput[]) {
    const { works } = this.#run.parts;
    const isSent = () => job.artifacts.get(index) === "sent";
    // Not before it waits for the rate limit: what a killed process leaves in doubt are the requests on their way.
    const noteIntent = async () => {
      if (!isSent()) await this.#record(["attach", job.number, index, "sent"]);
    };
    try {
      return await this.#run.call((call) => {
        const own: OwnCallOptions = { ...call, [beforeSend]: noteIntent };
        return works.attachArtifacts(job.jobWorkIds[index] ?? "", artifacts, own);
      }, false);
    } catch (error) {
      // The import ends, and this call may have had no effect.
      const isUnsent = isWorkspaceTasksError(error)
        ? error.outcome !== "unknown"
        : error instanceof FailureError;
      if (isUnsent && isSent()) await this.#record(["attach", job.number, index, "unsent"]);
      throw error;
    }
  }

  async #start(job: ImportJob): Next {
    const { parts, state } = this.#run;
    const wasStarting = job.isStarting;
    this.#run.enter("starting");
    if (!wasStarting) await this.#record(["start?", job.number]);
    const settled = await this.#run.call((call) => parts.jobs.startImport(job.id, call));
    if (settled.ok || isStarted(settled.error, wasStarting || settled.wasInDoubt))
      await this.#record(["start", job.number]);
    else if (settled.error.code === "CONFLICT")
      await this.#record(...job.clients.map(asUndecided(settled.error.message)));
    else for (const externalId of job.clients) state.fail(externalId, settled.error);
    return [];
  }

  /** Abandons a job that has, or may have, works, and tries its clients in smaller ones. */
  async #abandonDoubted(job: ImportJob, error: WorkspaceTasksError): Next {
    const { state } = this.#run;
    const chunk = await this.#abandon(job, "derived");
    const [first = "", ...others] = chunk.clients.keys();
    if (others.length > 0) return halves([first, ...others]).map((half) => this.#part(half, "derived"));
    if (chunk.clients.size === 0 || ++state.client(first).attempts < failuresMax) return [chunk];
    state.fail(first, error);
    return [];
  }

  /** The job is never started. @returns its clients that need another one */
  async #abandon(job: ImportJob, mode: WorkMode): Promise<Chunk> {
    const open = this.#run.state.openIn(job);
    await this.#record(["next", mode, open]);
    return this.#part(open, mode);
  }

  /** These clients, as far as the input has them. */
  #part(externalIds: readonly string[], mode: WorkMode): Chunk {
    const clients = new Map<string, CheckedClient>();
    for (const externalId of externalIds) {
      const client = this.#chunk.clients.get(externalId);
      if (client) clients.set(externalId, client);
    }
    return { clients, mode };
  }

  #record(...entries: readonly JournalEntry[]): Promise<void> {
    return this.#run.ledger.record(...entries);
  }
}

const doubted = (mode: WorkMode): WorkMode => (mode === "new" ? "doubt" : mode);

const asUndecided =
  (message: string) =>
  (externalId: string): JournalEntry => ["settled", "undecided", externalId, "IMPORT_UNDECIDED", message];

/** The ids of the works decide what artifacts are attached to: one that is missing makes the outcome unknown. */
function checkWorks(works: readonly JobWork[], count: number): readonly JobWork[] {
  const given: readonly (Partial<JobWork> | null)[] = Array.isArray(works) ? works : [];
  const isId = (id: unknown) => typeof id === "string" && id !== "";
  if (given.length === count && given.every((work) => isId(work?.id) && isId(work?.workId))) return works;
  const message = `partner.jobs.addWorks: expected ${count} works with ids, got others`;
  throw new WorkspaceTasksError("RESPONSE_INVALID", message, { outcome: "unknown" });
}

const undecidedText =
  `${method}: the external id is used in this connection, by a request of this import whose response was lost or by ` +
  "something else; look for a task of the client, and import it with another externalId if there is none";
