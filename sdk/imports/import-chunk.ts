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
  /** By external id. Of a resumed job, those that the input has. */
  readonly clients: ReadonlyMap<string, CheckedClient>;
  readonly mode: WorkMode;
  /** The job of an earlier process. */
  readonly job?: ImportJob | undefined;
  /** How often a job with this client alone was abandoned. */
  readonly attempts?: number | undefined;
}

/** Imports a chunk. Resolves to the chunks that take its place. */
export async function importChunk(context: ImportContext, chunk: Chunk): Promise<readonly Chunk[]> {
  const { ledger } = context;
  if (chunk.job?.isStarting) return startImport(context, chunk.job);
  context.enter("uploading");
  const { job: begun, clients } = chunk;
  const isAttached = (externalId: string) => begun?.attached.has(ledger.state.client(externalId).index);
  const ready = await uploadFiles(
    context,
    new Map([...clients].filter(([externalId]) => !isAttached(externalId))),
  );
  if (begun) return resume(context, chunk, begun, ready);
  if (ready.size === 0) return [];
  context.enter("adding");
  const job = context.spareJobs.pop() ?? (await createJob(context));
  await ledger.record(["works?", job.number, chunk.mode, [...ready.keys()]]);
  return addWorks(context, chunk, job, ready);
}

/** Whether the job can be continued: every client of it is attached, or can be. */
export const isComplete = (job: ImportJob, { clients }: Pick<Chunk, "clients">): boolean =>
  job.clients.every((externalId, index) => job.attached.has(index) || clients.has(externalId));

async function resume(context: ImportContext, chunk: Chunk, job: ImportJob, ready: ReadyClients) {
  if (!isComplete(job, { ...chunk, clients: ready as Chunk["clients"] })) return abandon(context, chunk, job);
  return job.jobWorkIds.length > 0
    ? attach(context, chunk, job, ready)
    : addWorks(context, chunk, job, ready);
}

async function createJob(context: ImportContext): Promise<ImportJob> {
  const { ledger, connectionId, jobName, operations } = context;
  ledger.state.jobCount += 1;
  const number = ledger.state.jobCount;
  const name = number === 1 ? jobName : `${jobName} (${number})`;
  // Of a job without works nothing comes: after an unknown outcome another one is created.
  const settled = await context.slots(() =>
    call(context, (options) => operations.jobs.create({ connectionId, jobName: name }, options), {
      repeatsDoubt: true,
    }),
  );
  if (!settled.ok) throw settled.error;
  const { id, workspaceId } = settled.value;
  await ledger.record(["job", number, id, workspaceId]);
  return ledger.state.jobs.get(number) as ImportJob;
}

async function addWorks(
  context: ImportContext,
  chunk: Chunk,
  job: ImportJob,
  ready: ReadyClients,
): Promise<readonly Chunk[]> {
  const { ledger, operations } = context;
  const works = job.clients.flatMap((externalId) => {
    const client = ready.get(externalId);
    return client ? [{ ...client.work, externalId: workExternalId(externalId, job) }] : [];
  });
  const onDoubt = () => {
    job.isDoubted = true;
  };
  const settled = await context.slots(() =>
    call(
      context,
      async (options) => checkWorks(await operations.jobs.addWorks(job.id, works, options), works.length),
      { repeatsDoubt: true, onDoubt },
    ),
  );
  if (settled.ok) {
    const [ids, workIds] = [settled.value.map(({ id }) => id), settled.value.map(({ workId }) => workId)];
    await ledger.record(["works", job.number, ids, workIds]);
    return attach(context, chunk, job, ready);
  }
  return rejectedWorks(context, chunk, job, settled.error);
}

/** The ids of the works decide what artifacts are attached to: one that is missing makes the outcome unknown. */
function checkWorks(works: readonly JobWork[], count: number): readonly JobWork[] {
  const ids = Array.isArray(works)
    ? works.map((work: Partial<JobWork> | null) => work?.id && work.workId)
    : [];
  if (ids.length === count && ids.every((id) => typeof id === "string" && id !== "")) return works;
  const message = `partner.jobs.addWorks: expected ${count} works with ids, got others`;
  throw new WorkspaceTasksError("RESPONSE_INVALID", message, { outcome: "unknown" });
}

async function rejectedWorks(
  context: ImportContext,
  chunk: Chunk,
  job: ImportJob,
  error: WorkspaceTasksError,
): Promise<readonly Chunk[]> {
  const { ledger, spareJobs } = context;
  const { clients, isDoubted } = job;
  const mode = modeOf(job);
  const decision = decideOnWorks(error, mode, clients);
  if (decision.type === "end") throw error;
  if (decision.type === "look_up") return lookUp(context, chunk, job);
  if (decision.type === "derive") return abandonDerived(context, chunk, job, error);
  const [first = ""] = clients;
  const entries: JournalEntry[] = [[isDoubted ? "abandoned" : "rejected", job.number]];
  if (decision.type === "exists") entries.push(["settled", "exists", first, error.code, error.message]);
  await ledger.record(...entries);
  if (!isDoubted) spareJobs.push(job);
  if (decision.type === "fail") ledger.state.fail(first, error);
  return decision.type === "split" ? decision.parts.map((part) => partOf(chunk, part, mode)) : [];
}

async function lookUp(context: ImportContext, chunk: Chunk, job: ImportJob): Promise<readonly Chunk[]> {
  const { ledger, spareJobs } = context;
  const { clients, workspaceId, isDoubted } = job;
  const { derive, again, undecided } = decideOnEvidence(
    clients,
    await findExisting(context, clients, workspaceId),
  );
  const entries: JournalEntry[] = undecided.map((id) => [
    "settled",
    "undecided",
    id,
    "IMPORT_UNDECIDED",
    undecidedText,
  ]);
  if (derive.length > 0) entries.unshift(["derived", derive]);
  await ledger.record(...entries, [isDoubted ? "abandoned" : "rejected", job.number]);
  if (!isDoubted) spareJobs.push(job);
  return [
    ...(derive.length > 0 ? [partOf(chunk, derive, "derived")] : []),
    ...again.map((part) => partOf(chunk, part, "doubt")),
  ];
}

const undecidedText =
  "partner.imports.start: the external id is used in this connection, by a request of this import whose response was lost or by " +
  "something else; look for a task of the client, and import the client with another externalId if there is none";

async function attach(
  context: ImportContext,
  chunk: Chunk,
  job: ImportJob,
  ready: ReadyClients,
): Promise<readonly Chunk[]> {
  const { ledger } = context;
  const { number } = job;
  context.enter("attaching");
  let doubt: WorkspaceTasksError | undefined;
  let isSpoilt = false;
  await forEach(context, job.clients.entries(), ([index, externalId]) =>
    context.slots(async () => {
      const artifacts = ready.get(externalId)?.artifacts ?? [];
      if (artifacts.length === 0 || job.attached.has(index) || doubt) return;
      const id = job.jobWorkIds[index] ?? "";
      const settled = await attachTo(context, id, artifacts, {
        // Not before it waits for the rate limit: what a killed process leaves in doubt are the requests on their way.
        onSend: async () => {
          if (!job.attaching.has(index)) await ledger.record(["attach?", number, index]);
        },
        onUnsent: async () => {
          if (job.attaching.has(index)) await ledger.record(["unattached", number, index]);
        },
      });
      if (settled.ok) return ledger.record(["attach", number, index]);
      isSpoilt = true;
      if (settled.error.outcome === "unknown") doubt = settled.error;
      else ledger.state.fail(externalId, settled.error);
    }),
  );
  if (doubt) return abandonDerived(context, chunk, job, doubt);
  if (!isSpoilt) return startImport(context, job);
  // The others have nothing to do with it, and need no smaller job.
  return [partOf(chunk, await giveUp(context, job, true), "derived")];
}

interface AttachListener {
  readonly onSend: () => Promise<void>;
  /** The import ends, and this call certainly had no effect. */
  readonly onUnsent: () => Promise<void>;
}

async function attachTo(
  context: ImportContext,
  jobWorkId: string,
  artifacts: readonly ArtifactInput[],
  { onSend, onUnsent }: AttachListener,
) {
  const { works } = context.operations;
  try {
    return await call(context, (options) =>
      works.attachArtifacts(jobWorkId, artifacts, { ...options, [beforeSend]: onSend } as OwnCallOptions),
    );
  } catch (error) {
    const isUnsent = isWorkspaceTasksError(error) && error.outcome !== "unknown";
    if (isUnsent || error instanceof FailureError) await onUnsent();
    throw error;
  }
}

async function startImport(context: ImportContext, job: ImportJob): Promise<readonly Chunk[]> {
  const { ledger, operations } = context;
  context.enter("starting");
  const wasStarting = job.isStarting;
  if (!wasStarting) await ledger.record(["start?", job.number]);
  const settled = await context.slots(() =>
    call(context, (options) => operations.jobs.startImport(job.id, options), { repeatsDoubt: true }),
  );
  if (settled.ok || isStarted(settled.error, wasStarting || settled.wasInDoubt)) {
    await ledger.record(["start", job.number]);
    context.resize("grow");
    return [];
  }
  const { code, message } = settled.error;
  if (code === "CONFLICT") {
    const entries = job.clients.map(
      (id): JournalEntry => ["settled", "undecided", id, "IMPORT_UNDECIDED", message],
    );
    await ledger.record(...entries, ["abandoned", job.number]);
  } else for (const externalId of job.clients) ledger.state.fail(externalId, settled.error);
  return [];
}

/** Abandons a job of an earlier process, some clients of which the input does not have any more, or have failed. */
async function abandon(context: ImportContext, chunk: Chunk, job: ImportJob): Promise<readonly Chunk[]> {
  const hasWorks = job.jobWorkIds.length > 0;
  const mode = hasWorks ? "derived" : modeOf(job);
  return [partOf(chunk, await giveUp(context, job, hasWorks), mode)].filter(
    ({ clients }) => clients.size > 0,
  );
}

/** Abandons a job that has, or may have, works, and tries its clients in smaller ones. */
async function abandonDerived(
  context: ImportContext,
  chunk: Chunk,
  job: ImportJob,
  error: WorkspaceTasksError,
): Promise<readonly Chunk[]> {
  const clients = await giveUp(context, job, true);
  context.resize("shrink");
  const [first] = clients;
  if (first === undefined || clients.length > 1)
    return halves(clients).map((part) => partOf(chunk, part, "derived"));
  const attempts = (chunk.attempts ?? 0) + 1;
  if (attempts < failuresMax) return [{ ...partOf(chunk, clients, "derived"), attempts }];
  context.ledger.state.fail(first, error);
  return [];
}

/** @returns the clients that need another job */
async function giveUp(
  { ledger }: ImportContext,
  job: ImportJob,
  isDerived: boolean,
): Promise<readonly string[]> {
  const open = job.clients.filter((externalId) => ledger.state.client(externalId).status === "open");
  const entries: JournalEntry[] = isDerived && open.length > 0 ? [["derived", open]] : [];
  await ledger.record(...entries, ["abandoned", job.number]);
  return open;
}

/** These clients of a chunk, as far as the input has them. */
function partOf({ clients }: Chunk, externalIds: readonly string[], mode: WorkMode): Chunk {
  const part = externalIds.flatMap((externalId) => {
    const client = clients.get(externalId);
    return client ? [[externalId, client] as const] : [];
  });
  return { clients: new Map(part), mode };
}
