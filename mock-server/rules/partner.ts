// A connection is `pending` from its start. Collecting it checks the stored credentials with the partner platform
// and makes it `active` or `failed`; it can be collected again. A `disconnected` one must be replaced.

import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isHttpUrl } from "../checks.ts";
import type {
  MutationCollectProviderConnectionArgs,
  MutationCreateConnectionJobArgs,
  MutationCreateJobWorkArtifactsArgs,
  MutationCreateJobWorksArgs,
  MutationStartProviderConnectionArgs,
} from "../generated/resolvers.ts";
import type { JobSeed } from "../settings/seed-plan.ts";
import type {
  ArtifactRecord,
  ConnectionRecord,
  JobRecord,
  JobWorkRecord,
  TaskPlan,
  UploadRecord,
} from "../state/records.ts";
import { type World, worldCache } from "../world/world.ts";
import {
  addClient,
  findClientByExternalId,
  guessMimeType,
  type PulledDocument,
  pullDocuments,
} from "./clients.ts";
import { type Caller, reachable, requireWriter } from "./identity.ts";
import {
  artifactsOfWork,
  checkListLength,
  createdNow,
  isBlank,
  touch,
  worksByExternalId,
  worksOfJob,
} from "./records.ts";
import { badInput, conflict } from "./service-error.ts";
import { planFor, startTask } from "./tasks.ts";
import { reachWorkspace } from "./workspaces.ts";

/** Not part of the interface. */
export function startConnection(
  world: World,
  caller: Caller,
  input: MutationStartProviderConnectionArgs,
): ConnectionRecord {
  const writer = requireWriter(caller);
  if (isBlank(input.providerKey)) throw badInput("Provider key must not be empty");
  checkInputs(input.inputs);
  const workspace = reachWorkspace(world, writer, input.workspaceId);
  const connection = addConnection(world, {
    workspaceId: workspace.id,
    providerKey: input.providerKey,
    status: "pending",
    displayName: input.providerKey,
    startInputs: input.inputs ?? null,
    settings: null,
  });
  emitStatus(world, connection);
  return connection;
}

type NewConnection = Omit<ConnectionRecord, "id" | "createdAtMs" | "updatedAtMs">;

/** Adds a connection without checking the caller. */
export function addConnection(world: World, input: NewConnection): ConnectionRecord {
  const connection = { id: world.newId("connection"), ...input, ...createdNow(world) };
  world.state.connections.set(connection.id, connection);
  return connection;
}

/**
 * Checks the credentials of the start step; the result sets the status. A platform that rejects them is no error:
 * the connection is returned as `failed`.
 * @see interface §3
 */
export async function collectConnection(
  world: World,
  caller: Caller,
  input: MutationCollectProviderConnectionArgs,
): Promise<ConnectionRecord> {
  const writer = requireWriter(caller);
  checkInputs(input.inputs);
  const connection = findConnection(world, writer, input.connectionId);
  return inOrder(world, connection.id, async () => {
    if (connection.status === "disconnected") throw conflict("Provider connection is disconnected");
    const accepted = await platformAccepts(world, connection);
    connection.status = accepted ? "active" : "failed";
    if (accepted && input.inputs != null) connection.settings = input.inputs;
    touch(world, connection);
    emitStatus(world, connection);
    return { ...connection };
  });
}

const lastChecks = worldCache(() => new Map<string, Promise<unknown>>());

/** Runs the checks of one connection one after the other: its state is the result of the last one that was asked for. */
function inOrder<Result>(world: World, connectionId: string, check: () => Promise<Result>): Promise<Result> {
  const last = lastChecks(world);
  const before = last.get(connectionId);
  const checking = before ? before.then(check, check) : check();
  const forget = () => last.get(connectionId) === checking && last.delete(connectionId);
  checking.then(forget, forget);
  last.set(connectionId, checking);
  world.track(checking);
  return checking;
}

export const findConnection = (world: World, caller: Caller, connectionId: string): ConnectionRecord =>
  reachable(world, caller, world.state.connections.get(connectionId), "Provider connection not found");

async function platformAccepts(world: World, connection: ConnectionRecord): Promise<boolean> {
  const { id, workspaceId, providerKey, startInputs } = connection;
  const { checkConnection } = world.transport;
  if (checkConnection) {
    const check = { connectionId: id, workspaceId, providerKey, inputs: startInputs };
    return (await checkConnection(check)) === true;
  }
  const apiKey = textOf(startInputs, "apiKey") ?? "";
  const baseUrl = textOf(startInputs, "baseUrl");
  if (baseUrl !== null && isHttpUrl(baseUrl) && isLoopbackHost(new URL(baseUrl).hostname)) {
    const { status } = await world.transport.read(baseUrl, { authorization: `Bearer ${apiKey}` });
    return status !== null && status >= 200 && status < 300;
  }
  return !apiKey.startsWith("invalid");
}

function textOf(inputs: unknown, name: string): string | null {
  const value = isPlainObject(inputs) ? inputs[name] : null;
  return typeof value === "string" ? value : null;
}

function checkInputs(inputs: unknown): void {
  if (inputs != null && !isPlainObject(inputs)) {
    throw badInput("Provider connection inputs must be an object");
  }
}

function emitStatus(world: World, { id, workspaceId, status }: ConnectionRecord): void {
  world.emit({ type: `connection.${status}`, connectionId: id, workspaceId });
}

/** All or nothing: with one invalid input no work is created. @see interface §4 */
export function createJobWorks(
  world: World,
  caller: Caller,
  input: MutationCreateJobWorksArgs,
): JobWorkRecord[] {
  const writer = requireWriter(caller);
  checkListLength(world, "inputs", input.inputs);
  if (input.inputs.length === 0) throw badInput("At least one work is required");
  for (const { name, externalId } of input.inputs) checkWork(name, externalId);
  const job = findJob(world, writer, input.connectionJobId);
  if (job.status !== "pending") throw conflict("Connection job does not accept works");
  const isTaken = (externalId: string) =>
    worksByExternalId(world, `${job.connectionId}/${externalId}`).length > 0;
  rejectRepeats(input.inputs, isTaken);

  return input.inputs.map(({ name, externalId }) => {
    const work: JobWorkRecord = {
      id: world.newId("job-work"),
      workId: world.newId("work"),
      workspaceId: job.workspaceId,
      connectionId: job.connectionId,
      jobId: job.id,
      name,
      externalId,
      ...createdNow(world),
    };
    world.state.jobWorks.set(work.id, work);
    world.emit({ type: "job-work.created", jobWorkId: work.id, jobId: job.id });
    return work;
  });
}

const findJobWork = (world: World, caller: Caller, jobWorkId: string): JobWorkRecord =>
  reachable(world, caller, world.state.jobWorks.get(jobWorkId), "Job work not found");

function checkWork(name: string, externalId: string): void {
  if (isBlank(name)) throw badInput("Work name must not be empty");
  if (isBlank(externalId)) throw badInput("Work externalId must not be empty");
}

function rejectRepeats(
  inputs: MutationCreateJobWorksArgs["inputs"],
  isTaken: (externalId: string) => boolean,
): void {
  const given = new Set<string>();
  for (const { externalId } of inputs) {
    if (given.has(externalId) || isTaken(externalId)) {
      throw conflict(`externalId "${externalId}" is already used in this connection`);
    }
    given.add(externalId);
  }
}

// A job is `pending` while works are added, `active` from the start of its import and `completed` when the import
// of every work has ended. No other transition exists.

/** @see interface §4 */
export function createJob(world: World, caller: Caller, input: MutationCreateConnectionJobArgs): JobRecord {
  const writer = requireWriter(caller);
  if (isBlank(input.jobName)) throw badInput("Job name must not be empty");
  const connection = findConnection(world, writer, input.connectionId);
  if (connection.status !== "active") throw conflict("Provider connection is not active");
  const job = addJob(world, connection, { name: input.jobName });
  world.emit({ type: "job.pending", jobId: job.id, workspaceId: job.workspaceId });
  return job;
}

/** Adds a job without checking the caller. Default: `pending`. */
export function addJob(
  world: World,
  { id: connectionId, workspaceId }: ConnectionRecord,
  { name, status = "pending" }: JobSeed,
): JobRecord {
  const job = { id: world.newId("job"), workspaceId, connectionId, name, status, ...createdNow(world) };
  world.state.jobs.set(job.id, job);
  return job;
}

/** Starts the import of a job that has works. */
export function initiateImport(world: World, caller: Caller, jobId: string): JobRecord {
  const job = findJob(world, requireWriter(caller), jobId);
  if (job.status !== "pending") throw conflict("Connection job import has already been started");
  if (worksOfJob(world, job.id).length === 0) throw conflict("Connection job has no works");
  startImport(world, job);
  return job;
}

export const findJob = (world: World, caller: Caller, jobId: string): JobRecord =>
  reachable(world, caller, world.state.jobs.get(jobId), "Connection job not found");

/** Attaches files to a work whose import has not been started. Not part of the interface. */
export function createArtifacts(
  world: World,
  caller: Caller,
  input: MutationCreateJobWorkArtifactsArgs,
): ArtifactRecord[] {
  const writer = requireWriter(caller);
  checkListLength(world, "inputs", input.inputs);
  if (input.inputs.length === 0) throw badInput("At least one artifact is required");
  for (const { name, externalId, url } of input.inputs) checkArtifact(name, externalId, url);
  const work = findJobWork(world, writer, input.jobWorkId);
  if (world.state.jobs.get(work.jobId)?.status !== "pending") {
    throw conflict("Connection job does not accept artifacts");
  }

  return input.inputs.map(({ name, type, url, externalId, metadata }) => {
    const artifact: ArtifactRecord = {
      id: world.newId("job-artifact"),
      artifactId: world.newId("artifact"),
      workspaceId: work.workspaceId,
      jobId: work.jobId,
      jobWorkId: work.id,
      externalId,
      name,
      type,
      status: "pending",
      url: url ?? null,
      metadata: metadata ?? null,
      ...createdNow(world),
    };
    world.state.artifacts.set(artifact.id, artifact);
    world.emit({ type: "artifact.created", artifactId: artifact.id, jobWorkId: work.id });
    return artifact;
  });
}

function checkArtifact(name: string, externalId: string, url: string | null | undefined): void {
  if (isBlank(name)) throw badInput("Artifact name must not be empty");
  if (isBlank(externalId)) throw badInput("Artifact externalId must not be empty");
  if (url != null && !isHttpUrl(url)) throw badInput("Artifact url must be an HTTP or HTTPS URL");
}

/*
 * The import of a job. The job is `active` from the call on. Its works are imported one after the other: the
 * client is found by `externalId` or added, the artifacts are fetched, `documents.synced` reports what was pulled,
 * and a `TAX_PREP` task starts. An artifact that cannot be fetched is marked `failed` and left out. Without any
 * document the task fails in its first stage with an action for the customer. After the last work the job is
 * `completed`, while its tasks continue. A work with a task is never imported again, so an import that a snapshot
 * has interrupted resumes where it was.
 */

export function startImport(world: World, job: JobRecord): void {
  setJobStatus(world, job, "active");
  world.track(importOrReport(world, job));
}

/** Resumes the imports of a restored state. */
export function resumeImports(world: World): void {
  for (const job of world.state.jobs.values()) {
    if (job.status === "active") world.track(importOrReport(world, job));
  }
}

/** An import that cannot start its tasks, because the mock can hold no more, stays `active`. */
async function importOrReport(world: World, job: JobRecord): Promise<void> {
  try {
    await runImport(world, job);
  } catch (error) {
    const message = isError(error) ? error.message : String(error);
    world.emit({ type: "import.failed", jobId: job.id, message });
  }
}

async function runImport(world: World, job: JobRecord): Promise<void> {
  // The call that starts the import returns first, with the job `active`.
  await Promise.resolve();
  const works = [...worksOfJob(world, job.id)];
  for (const work of works) {
    if (work.taskId === undefined) await importWork(world, job, work);
    if (world.ended) return;
  }
  setJobStatus(world, job, "completed");
}

async function importWork(world: World, job: JobRecord, work: JobWorkRecord): Promise<void> {
  const artifacts = artifactsOfWork(world, work.id);
  const fetched = await Promise.all(artifacts.map((artifact) => fetchArtifact(world, artifact)));
  const connection = world.state.connections.get(job.connectionId);
  if (world.ended || !connection) return;
  const { workspaceId, externalId, name } = work;
  const client =
    findClientByExternalId(world, workspaceId, externalId) ??
    addClient(world, workspaceId, { name, externalId });
  markArtifacts(world, work, fetched);
  const documents = fetched.flatMap(({ document }) => document ?? []);
  const sourceExternalId = externalId;
  if (documents.length > 0)
    pullDocuments(world, { connection, clientId: client.id, sourceExternalId, documents });
  const task = startTask(world, {
    workspaceId,
    clientId: client.id,
    type: "TAX_PREP",
    attributes: [
      { name: "connectionJobId", value: job.id },
      { name: "workId", value: work.workId },
    ],
    plan: planWithout(world, connection, fetched),
  });
  work.taskId = task.id;
  touch(world, work);
}

interface Fetched {
  readonly artifact: ArtifactRecord;
  readonly document: PulledDocument | null;
  /** The connected system rejected the credentials. */
  readonly unauthorised: boolean;
}

/**
 * A complete upload of the workspace is a document. Of other URLs only loopback ones are read; any other, and none, is
 * a simulated file that can always be fetched.
 */
async function fetchArtifact(world: World, artifact: ArtifactRecord): Promise<Fetched> {
  const { url, name, externalId } = artifact;
  const simulated = { fileName: name, mimeType: guessMimeType(name), externalId };
  const upload = url === null ? undefined : uploadAt(world, artifact.workspaceId, url);
  if (upload) {
    const document = upload.completedAtMs === null ? null : { ...simulated, mimeType: upload.fileType };
    return { artifact, document, unauthorised: false };
  }
  if (url === null || !isLoopbackHost(new URL(url).hostname))
    return { artifact, document: simulated, unauthorised: false };
  const response = await world.transport.read(url, {});
  const unauthorised = response.status === 401 || response.status === 403;
  const isFetched = response.status !== null && response.status >= 200 && response.status < 300;
  const document = isFetched ? { ...simulated, mimeType: response.mimeType } : null;
  return { artifact, document, unauthorised };
}

/** The upload of the workspace with this URL. */
function uploadAt({ state }: World, workspaceId: string, url: string): UploadRecord | undefined {
  const id = /\/api\/uploads\/([^/]+)$/.exec(new URL(url).pathname)?.[1];
  const upload = id === undefined ? undefined : state.uploads.get(id);
  return upload?.workspaceId === workspaceId ? upload : undefined;
}

/** The plan of a task without any document; `null` with one. */
function planWithout(
  world: World,
  connection: ConnectionRecord,
  fetched: readonly Fetched[],
): TaskPlan | null {
  if (fetched.length === 0 || fetched.some(({ document }) => document !== null)) return null;
  const plan = planFor(world, "TAX_PREP");
  const [first = { type: "document-classification", durationMs: 0 }] = plan.stages;
  const customerError = fetched.some(({ unauthorised }) => unauthorised)
    ? { code: "CONNECTION_REAUTH_REQUIRED", action: { type: "RECONNECT", connectionId: connection.id } }
    : { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } };
  return {
    progression: plan.progression,
    stages: [{ ...first, status: "FAILED", errorMessage: "no document could be fetched" }],
    outcome: { status: "FAILED", customerError },
  };
}

function markArtifacts(world: World, work: JobWorkRecord, fetched: readonly Fetched[]): void {
  for (const { artifact, document } of fetched) {
    artifact.status = document ? "uploaded" : "failed";
    touch(world, artifact);
    world.emit({ type: `artifact.${artifact.status}`, artifactId: artifact.id, jobWorkId: work.id });
  }
}

function setJobStatus(world: World, job: JobRecord, status: JobRecord["status"]): void {
  job.status = status;
  touch(world, job);
  world.emit({ type: `job.${status}`, jobId: job.id, workspaceId: job.workspaceId });
}
