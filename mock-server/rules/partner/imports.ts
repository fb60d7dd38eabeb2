import type {
  ArtifactRecord,
  ClientRecord,
  ConnectionRecord,
  JobRecord,
  JobWorkRecord,
} from "../../state/records.ts";
import type { TaskPlan } from "../../state/task-plan.ts";
import type { World } from "../../world/world.ts";
import { isLoopbackHost } from "../loopback.ts";
import { planFor } from "../tasks/progression.ts";
import { startTask } from "../tasks/tasks.ts";
import { type PulledDocument, pullDocuments } from "../workspaces/client-documents.ts";
import { addClient, findClientByExternalId } from "../workspaces/clients.ts";
import { guessMimeType } from "../workspaces/mime-type.ts";

/**
 * The import of a job. The job is `active` from the call on. Its works are taken one after the
 * other: the client is found by `externalId` or added, the artifacts are fetched, what was pulled is told
 * by `documents.synced`, and a `TAX_PREP` task starts. An artifact that cannot be fetched is marked
 * `failed` and left out; the rest goes on without it. Where none can be fetched, the task fails in its first
 * stage and says what the customer can do. After the last work the job is `completed`, while
 * the tasks go their own way. A work that has its task is never imported again, so an import that a
 * snapshot caught in the middle goes on where it stood.
 */
export function startImport(world: World, job: JobRecord): void {
  moveJob(world, job, "active");
  world.track(runImport(world, job));
}

/** Sets the imports of a restored state going again. */
export function resumeImports(world: World): void {
  for (const job of world.state.jobs.values()) {
    if (job.status === "active") world.track(runImport(world, job));
  }
}

async function runImport(world: World, job: JobRecord): Promise<void> {
  // The call that starts the import answers first, with the job `active`.
  await Promise.resolve();
  const works = [...world.state.jobWorks.values()].filter(({ jobId }) => jobId === job.id);
  for (const work of works) {
    if (work.taskId === undefined) await importWork(world, job, work);
    if (world.ended) return;
  }
  moveJob(world, job, "completed");
}

async function importWork(world: World, job: JobRecord, work: JobWorkRecord): Promise<void> {
  const artifacts = [...world.state.artifacts.values()].filter(({ jobWorkId }) => jobWorkId === work.id);
  const fetched = await Promise.all(artifacts.map((artifact) => fetchArtifact(world, artifact)));
  const connection = world.state.connections.get(job.connectionId);
  if (world.ended || !connection) return;
  const client = clientOf(world, work);
  pullWork(world, { connection, client, work, fetched });
  const task = startTask(world, {
    workspaceId: work.workspaceId,
    clientId: client.id,
    type: "TAX_PREP",
    attributes: [
      { name: "connectionJobId", value: job.id },
      { name: "workId", value: work.workId },
    ],
    plan: planWithout(world, connection, fetched),
  });
  work.taskId = task.id;
  work.updatedAtMs = Math.max(world.clock.now(), work.updatedAtMs + 1);
}

type Fetched = {
  readonly artifact: ArtifactRecord;
  readonly document: PulledDocument | null;
  /** The connected system refused the credentials. */
  readonly refused: boolean;
};

/** Loopback URLs are really read; any other, and none, stands for a file that is always there. */
async function fetchArtifact(world: World, artifact: ArtifactRecord): Promise<Fetched> {
  const { url, name, externalId } = artifact;
  const simulated = { fileName: name, mimeType: guessMimeType(name), externalId };
  if (url === null || !isLoopbackHost(new URL(url).hostname))
    return { artifact, document: simulated, refused: false };
  const answer = await world.transport.read(url, {});
  const came = answer.status !== null && answer.status >= 200 && answer.status < 300;
  const refused = answer.status === 401 || answer.status === 403;
  return { artifact, document: came ? { ...simulated, mimeType: answer.mimeType } : null, refused };
}

/** The plan of a task that has nothing to work on; `null` when it has. */
function planWithout(
  world: World,
  connection: ConnectionRecord,
  fetched: readonly Fetched[],
): TaskPlan | null {
  if (fetched.length === 0 || fetched.some(({ document }) => document !== null)) return null;
  const plan = planFor(world, "TAX_PREP");
  const [first = { type: "document-classification", durationMs: 0 }] = plan.stages;
  const customerError = fetched.some(({ refused }) => refused)
    ? { code: "CONNECTION_REAUTH_REQUIRED", action: { type: "RECONNECT", connectionId: connection.id } }
    : { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } };
  return {
    mode: plan.mode,
    stages: [{ ...first, status: "FAILED", errorMessage: "no document could be fetched" }],
    outcome: { status: "FAILED", customerError },
  };
}

function pullWork(
  world: World,
  pull: {
    readonly connection: ConnectionRecord;
    readonly client: ClientRecord;
    readonly work: JobWorkRecord;
    readonly fetched: readonly Fetched[];
  },
): void {
  for (const { artifact, document } of pull.fetched) {
    artifact.status = document ? "uploaded" : "failed";
    artifact.updatedAtMs = Math.max(world.clock.now(), artifact.updatedAtMs + 1);
    world.emit({ type: `artifact.${artifact.status}`, artifactId: artifact.id, jobWorkId: pull.work.id });
  }
  const documents = pull.fetched.flatMap(({ document }) => (document ? [document] : []));
  if (documents.length === 0) return;
  pullDocuments(world, {
    connection: pull.connection,
    clientId: pull.client.id,
    sourceExternalId: pull.work.externalId,
    documents,
  });
}

function clientOf(world: World, work: JobWorkRecord): ClientRecord {
  const { workspaceId, externalId, name } = work;
  const known = findClientByExternalId(world, workspaceId, externalId);
  if (known) return known;
  const taxYear = new Date(world.clock.now()).getUTCFullYear() - 1;
  return addClient(world, workspaceId, { name, externalId, returnType: "F1040", taxYear });
}

function moveJob(world: World, job: JobRecord, status: JobRecord["status"]): void {
  job.status = status;
  job.updatedAtMs = Math.max(world.clock.now(), job.updatedAtMs + 1);
  world.emit({ type: `job.${status}`, jobId: job.id, workspaceId: job.workspaceId });
}
