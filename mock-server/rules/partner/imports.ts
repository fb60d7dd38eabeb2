/*
 * The import of a job. The job is `active` from the call on. Its works are imported one after the other: the
 * client is found by `externalId` or added, the artifacts are fetched, `documents.synced` reports what was pulled,
 * and a `TAX_PREP` task starts. An artifact that cannot be fetched is marked `failed` and left out. Without any
 * document the task fails in its first stage with an action for the customer. After the last work the job is
 * `completed`, while its tasks continue. A work with a task is never imported again, so an import that a snapshot
 * has interrupted resumes where it was.
 */

import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import type {
  ArtifactRecord,
  ConnectionRecord,
  JobRecord,
  JobWorkRecord,
  UploadRecord,
} from "../../state/records.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import type { World } from "../../world/world.ts";
import { artifactsOfWork, worksOfJob } from "../record-groups.ts";
import { planFor } from "../tasks/progression.ts";
import { startTask } from "../tasks/tasks.ts";
import { touch } from "../touch.ts";
import { type PulledDocument, pullDocuments } from "../workspaces/client-documents.ts";
import { addClient, findClientByExternalId } from "../workspaces/clients.ts";
import { guessMimeType } from "../workspaces/mime-type.ts";

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
