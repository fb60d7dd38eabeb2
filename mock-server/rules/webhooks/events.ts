import type { EventPayloads, SyncedDocument } from "../../../sdk/events/index.ts";
import type { EventRecord, StageRecord, TaskRecord } from "../../state/records.ts";
import { uuidFromName } from "../../world/random.ts";
import type { World } from "../../world/world.ts";
import { deliverEvent, wantsEvent } from "../deliveries/engine.ts";

// The body is written once, as text: what is stored is what is signed and sent, byte for byte. Ids are
// derived from what changed, so that the same change always has the same id (E2), and an event that no
// endpoint wants is announced but not kept.

/** Tells every subscribed endpoint that the task has entered its present status. @see interface §6 */
export function emitTaskEvent(world: World, task: TaskRecord, withinRetryGrace: boolean): void {
  const name = taskEventNames[task.status];
  const failed = task.status === "FAILED";
  emit(world, {
    id: () => uuidFromName(`task/${task.id}/${task.changes}`),
    name,
    workspaceId: task.workspaceId,
    subject: task.id,
    occurredAtMs: task.changedAtMs,
    payload: (id) => ({
      ...taskEnvelope(task, id, name, task.changedAtMs),
      status: task.status,
      errorMessage: failed ? task.errorMessage : null,
      taxPrepResult: task.status === "COMPLETED" && task.type === "TAX_PREP" ? task.result : null,
      customerError: failed && !withinRetryGrace ? task.customerError : null,
    }),
  });
}

/** Tells every subscribed endpoint that a stage has finished. @see interface §6, "Subtask payload" */
export function emitStageEvent(world: World, task: TaskRecord, stage: StageRecord): void {
  const name = stage.status === "FAILED" ? "subtask.failed" : "subtask.completed";
  const occurredAtMs = stage.completedAtMs ?? stage.startedAtMs;
  emit(world, {
    id: () => uuidFromName(`stage/${stage.id}/${stage.status}`),
    name,
    workspaceId: task.workspaceId,
    subject: task.id,
    occurredAtMs,
    payload: (id) => ({
      ...taskEnvelope(task, id, name, occurredAtMs),
      status: stage.status,
      subTaskId: stage.id,
      subTaskType: stage.type,
      errorMessage: stage.status === "FAILED" ? stage.errorMessage : null,
    }),
  });
}

export type DocumentsPull = {
  /** Unique per pull; the event's id derives from it. */
  readonly pullId: string;
  readonly workspaceId: string;
  readonly clientId: string;
  readonly connectionId: string;
  readonly providerKey: string;
  /** Folder or project in the connected system. */
  readonly sourceExternalId: string;
  readonly documents: readonly SyncedDocument[];
  readonly duplicateCount: number;
};

/** Tells every subscribed endpoint that documents were pulled from a connected system. */
export function emitDocumentsSynced(world: World, pull: DocumentsPull): void {
  const name = "documents.synced";
  const occurredAtMs = world.clock.now();
  emit(world, {
    id: () => uuidFromName(`pull/${pull.pullId}`),
    name,
    workspaceId: pull.workspaceId,
    subject: pull.clientId,
    occurredAtMs,
    payload: (id): EventPayloads["documents.synced"] => ({
      id,
      event: name,
      version: "2",
      occurredAt: toIsoTime(occurredAtMs),
      workspaceId: pull.workspaceId,
      clientId: pull.clientId,
      connectionId: pull.connectionId,
      providerKey: pull.providerKey,
      sourceExternalId: pull.sourceExternalId,
      documents: [...pull.documents],
      duplicateCount: pull.duplicateCount,
    }),
  });
}

/**
 * Sends any event of the catalog with any payload, for events of the future. The fields of the envelope
 * (`id`, `event`, `version`, `occurredAt`, `workspaceId`) are filled in where the payload lacks them.
 */
export function emitCustomEvent(
  world: World,
  event: {
    readonly workspaceId: string;
    readonly name: string;
    readonly payload: object;
    readonly version?: string;
  },
): EventRecord {
  const id = world.newId("event");
  const occurredAtMs = world.clock.now();
  const payload = {
    id,
    event: event.name,
    version: event.version ?? "2",
    occurredAt: toIsoTime(occurredAtMs),
    workspaceId: event.workspaceId,
    ...event.payload,
  };
  const { workspaceId, name } = event;
  const record = { id, workspaceId, name, occurredAtMs, subject: id, body: JSON.stringify(payload) };
  announceEvent(world, record);
  deliverEvent(world, record);
  return record;
}

type Emission = {
  readonly id: () => string;
  readonly name: string;
  readonly workspaceId: string;
  readonly subject: string;
  readonly occurredAtMs: number;
  readonly payload: (id: string) => object;
};

function emit(world: World, emission: Emission): void {
  const { name, workspaceId, subject, occurredAtMs } = emission;
  const wanted = wantsEvent(world, workspaceId, name);
  if (!wanted && !world.hasSubscribers) return;
  const id = emission.id();
  announceEvent(world, { id, name, workspaceId, subject, occurredAtMs });
  if (!wanted) return;
  deliverEvent(world, {
    id,
    workspaceId,
    name,
    occurredAtMs,
    subject,
    body: JSON.stringify(emission.payload(id)),
  });
}

function announceEvent(world: World, event: Omit<EventRecord, "body">): void {
  if (!world.hasSubscribers) return;
  const { id, name, workspaceId, subject, occurredAtMs } = event;
  world.emit({
    type: "event.emitted",
    eventId: id,
    event: name,
    workspaceId,
    subject,
    occurredAt: toIsoTime(occurredAtMs),
  });
}

const taskEventNames = {
  RUNNING: "task.running",
  COMPLETED: "task.completed",
  FAILED: "task.failed",
} as const;

const taskEnvelope = (task: TaskRecord, id: string, event: string, occurredAtMs: number) => ({
  id,
  event,
  version: "2",
  occurredAt: toIsoTime(occurredAtMs),
  workspaceId: task.workspaceId,
  clientId: task.clientId,
  taskId: task.id,
  taskType: task.type,
});

const toIsoTime = (atMs: number) => new Date(atMs).toISOString();
