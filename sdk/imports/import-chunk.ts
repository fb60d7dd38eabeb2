// A chunk: the clients that share a job. One request adds all works of a job, so the job has all of them or none:
//
//   files uploaded ──► job created ──works?──► works added ──attach?──► attached ──start?──► started
//                                    │ rejected: the parts in other jobs   │ in doubt, or rejected for a client: abandoned;
//                                    │ in doubt: sent again                │ the others, with derived external ids, in another job
//
// A word with a question mark is an entry of the journal that is durable before the request is sent.

import { FailureError } from "../call/failure.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { JobWork } from "../operations/jobs.ts";
import type { ArtifactInput } from "../operations/works.ts";
import { beforeSend, type OwnCallOptions } from "../options.ts";
import { findExisting } from "./find-existing.ts";
import { failuresMax } from "./import-calls.ts";
import { call, forEach, type ImportContext } from "./import-context.ts";
import type { CheckedClient } from "./import-input.ts";
import { type ImportJob, modeOf, workExternalId } from "./import-state.ts";
import type { JournalEntry, WorkMode } from "./journal/journal-entry.ts";
import { decideOnEvidence, decideOnWorks, halves, isStarted } from "./outcome-policy.ts";
import { type ReadyClients, uploadFiles } from "./upload-files.ts";

export interface Chunk {
  /** By external id. Of a job of an earlier process, those that the input has. */
  readonly clients: ReadonlyMap<string, CheckedClient>;
  readonly mode: WorkMode;
  /** The job of an earlier process. */
  readonly job?: ImportJob | undefined;
  /** How often a job with this client alone was abandoned. */
  readonly attempts?: number | undefined;
}

/** Imports a chunk. Resolves to the chunks that take its place. */
export const importChunk = (context: ImportContext, chunk: Chunk): Promise<readonly Chunk[]> =>
  new ChunkImport(context, chunk).run();

/** Whether the job can be continued: the artifacts of every client of it are attached, or can be. */
export const isComplete = (job: ImportJob, clients: Pick<ReadonlyMap<string, unknown>, "has">): boolean =>
  job.clients.every((externalId, index) => job.attached.has(index) || clients.has(externalId));

type Next = Promise<readonly Chunk[]>;

class ChunkImport {
  readonly #context: ImportContext;
  readonly #chunk: Chunk;
  #ready: ReadyClients = new Map();

  constructor(context: ImportContext, chunk: Chunk) {
    this.#context = context;
    this.#chunk = chunk;
  }

  async run(): Next {
    const { ledger, spareJobs, enter } = this.#context;
    const { job: begun, clients, mode } = this.#chunk;
    if (begun?.isStarting) return this.#start(begun);
    enter("uploading");
    const isAttached = (externalId: string) => begun?.attached.has(ledger.state.client(externalId).index);
    const unattached = [...clients].filter(([externalId]) => !isAttached(externalId));
    this.#ready = await uploadFiles(this.#context, new Map(unattached));
    if (begun) return this.#resume(begun);
    if (this.#ready.size === 0) return [];
    enter("adding");
    const job = spareJobs.pop() ?? (await this.#createJob());
    await ledger.record(["works?", job.number, mode, [...this.#ready.keys()]]);
    return this.#addWorks(job);
  }

  async #resume(job: ImportJob): Next {
    const hasWorks = job.jobWorkIds.length > 0;
    if (isComplete(job, this.#ready)) return hasWorks ? this.#attach(job) : this.#addWorks(job);
    // Some of its clients have failed, or the input does not have them any more.
    return [this.#part(await this.#abandon(job, hasWorks), hasWorks ? "derived" : modeOf(job))];
  }

  async #createJob(): Promise<ImportJob> {
    const { ledger, connectionId, jobName, operations } = this.#context;
    const number = ++ledger.state.jobCount;
    const input = { connectionId, jobName: number === 1 ? jobName : `${jobName} (${number})` };
    // Of a job without works nothing comes: after an unknown outcome another one is created.
    const settled = await call(this.#context, (options) => operations.jobs.create(input, options), {
      repeatsDoubt: true,
    });
    if (!settled.ok) throw settled.error;
    const { id, workspaceId } = settled.value;
    await ledger.record(["job", number, id, workspaceId]);
    return ledger.state.jobs.get(number) as ImportJob;
  }

  async #addWorks(job: ImportJob): Next {
    const { ledger, operations } = this.#context;
    const works = job.clients.flatMap((externalId) => {
      const client = this.#ready.get(externalId);
      return client ? [{ ...client.work, externalId: workExternalId(externalId, job) }] : [];
    });
    const settled = await call(
      this.#context,
      async (options) => checkWorks(await operations.jobs.addWorks(job.id, works, options), works.length),
      {
        repeatsDoubt: true,
        onDoubt() {
          job.isDoubted = true;
        },
      },
    );
    if (!settled.ok) return this.#rejected(job, settled.error);
    const [ids, workIds] = [settled.value.map(({ id }) => id), settled.value.map(({ workId }) => workId)];
    await ledger.record(["works", job.number, ids, workIds]);
    return this.#attach(job);
  }

  async #rejected(job: ImportJob, error: WorkspaceTasksError): Next {
    const { clients } = job;
    const mode = modeOf(job);
    const decision = decideOnWorks(error, mode, clients);
    if (decision.type === "end") throw error;
    if (decision.type === "look_up") return this.#lookUp(job);
    if (decision.type === "derive") return this.#abandonDoubted(job, error);
    const [first = ""] = clients;
    const settled: JournalEntry = ["settled", "exists", first, error.code, error.message];
    await this.#release(job, [], decision.type === "exists" ? [settled] : []);
    if (decision.type === "fail") this.#context.ledger.state.fail(first, error);
    return decision.type === "split" ? decision.parts.map((part) => this.#part(part, mode)) : [];
  }

  async #lookUp(job: ImportJob): Next {
    const { clients, workspaceId } = job;
    const existing = await findExisting(this.#context, clients, workspaceId);
    const { derive, again, undecided } = decideOnEvidence(clients, existing);
    await this.#release(job, [
      ...(derive.length > 0 ? [["derived", derive] as const] : []),
      ...undecided.map((id) => ["settled", "undecided", id, "IMPORT_UNDECIDED", undecidedText] as const),
    ]);
    return [this.#part(derive, "derived"), ...again.map((part) => this.#part(part, "doubt"))];
  }

  /** The job has no works, or, if these are in doubt, is never started. */
  async #release(job: ImportJob, before: readonly JournalEntry[], after: readonly JournalEntry[] = []) {
    const { ledger, spareJobs } = this.#context;
    const { isDoubted } = job;
    await ledger.record(...before, [isDoubted ? "abandoned" : "rejected", job.number], ...after);
    if (!isDoubted) spareJobs.push(job);
  }

  async #attach(job: ImportJob): Next {
    const { ledger, enter } = this.#context;
    enter("attaching");
    let doubt: WorkspaceTasksError | undefined;
    let isSpoilt = false;
    await forEach(this.#context, job.clients.entries(), async ([index, externalId]) => {
      const artifacts = this.#ready.get(externalId)?.artifacts ?? [];
      if (artifacts.length === 0 || job.attached.has(index)) return;
      const settled = await this.#attachTo(job, index, artifacts, () => doubt);
      if (settled.ok) return ledger.record(["attach", job.number, index]);
      isSpoilt = true;
      if (settled.error.outcome === "unknown") doubt = settled.error;
      else ledger.state.fail(externalId, settled.error);
    });
    if (doubt) return this.#abandonDoubted(job, doubt);
    // The others have nothing to do with those that failed, and need no smaller job.
    return isSpoilt ? [this.#part(await this.#abandon(job, true), "derived")] : this.#start(job);
  }

  /** @param doubt of another client of the job, which then needs no more artifacts */
  async #attachTo(
    { number, jobWorkIds, attaching }: ImportJob,
    index: number,
    artifacts: readonly ArtifactInput[],
    doubt: () => WorkspaceTasksError | undefined,
  ) {
    const { ledger, operations } = this.#context;
    // Not before it waits for the rate limit: what a killed process leaves in doubt are the requests on their way.
    const noteIntent = async () => {
      if (!attaching.has(index)) await ledger.record(["attach?", number, index]);
    };
    try {
      return await call(this.#context, async (options) => {
        const inDoubt = doubt();
        if (inDoubt) throw inDoubt;
        const own: OwnCallOptions = { ...options, [beforeSend]: noteIntent };
        return operations.works.attachArtifacts(jobWorkIds[index] ?? "", artifacts, own);
      });
    } catch (error) {
      // The import ends, and this call may have had no effect.
      const isUnsent = isWorkspaceTasksError(error)
        ? error.outcome !== "unknown"
        : error instanceof FailureError;
      if (isUnsent && attaching.has(index)) await ledger.record(["unattached", number, index]);
      throw error;
    }
  }

  async #start(job: ImportJob): Next {
    const { ledger, operations, enter, resize } = this.#context;
    enter("starting");
    const wasStarting = job.isStarting;
    if (!wasStarting) await ledger.record(["start?", job.number]);
    const settled = await call(this.#context, (options) => operations.jobs.startImport(job.id, options), {
      repeatsDoubt: true,
    });
    if (settled.ok || isStarted(settled.error, wasStarting || settled.wasInDoubt)) {
      await ledger.record(["start", job.number]);
      resize("grow");
      return [];
    }
    const { code, message } = settled.error;
    if (code === "CONFLICT") {
      const undecided = (id: string): JournalEntry => [
        "settled",
        "undecided",
        id,
        "IMPORT_UNDECIDED",
        message,
      ];
      await ledger.record(...job.clients.map(undecided), ["abandoned", job.number]);
    } else for (const externalId of job.clients) ledger.state.fail(externalId, settled.error);
    return [];
  }

  /** Abandons a job that has, or may have, works, and tries its clients in smaller ones. */
  async #abandonDoubted(job: ImportJob, error: WorkspaceTasksError): Next {
    const { ledger, resize } = this.#context;
    const clients = await this.#abandon(job, true);
    resize("shrink");
    if (clients.length > 1) return halves(clients).map((half) => this.#part(half, "derived"));
    const attempts = (this.#chunk.attempts ?? 0) + 1;
    if (attempts < failuresMax) return [{ ...this.#part(clients, "derived"), attempts }];
    for (const externalId of clients) ledger.state.fail(externalId, error);
    return [];
  }

  /** @returns the clients that need another job */
  async #abandon(job: ImportJob, isDerived: boolean): Promise<readonly string[]> {
    const { ledger } = this.#context;
    const open = job.clients.filter((externalId) => ledger.state.client(externalId).status === "open");
    const derived: readonly JournalEntry[] = isDerived && open.length > 0 ? [["derived", open]] : [];
    await ledger.record(...derived, ["abandoned", job.number]);
    return open;
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
}

/** The ids of the works decide what artifacts are attached to: one that is missing makes the outcome unknown. */
function checkWorks(works: readonly JobWork[], count: number): readonly JobWork[] {
  const given: readonly (Partial<JobWork> | null)[] = Array.isArray(works) ? works : [];
  const isId = (id: unknown) => typeof id === "string" && id !== "";
  if (given.length === count && given.every((work) => isId(work?.id) && isId(work?.workId))) return works;
  const message = `partner.jobs.addWorks: expected ${count} works with ids, got others`;
  throw new WorkspaceTasksError("RESPONSE_INVALID", message, { outcome: "unknown" });
}

const undecidedText =
  "partner.imports.start: the external id is used in this connection, by a request of this import whose response was lost or by " +
  "something else; look for a task of the client, and import it with another externalId if there is none";
