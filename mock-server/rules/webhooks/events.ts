// The body is serialised once: what is stored is what is signed and sent, byte for byte. Ids are derived from
// the change, so that the same change always has the same id (E2). An event without an endpoint is not stored.

import type { EventPayloads, SyncedDocument } from "../../../sdk/events/index.ts";
import type { EventRecord, StageRecord, TaskRecord } from "../../state/records.ts";
import { isoTime } from "../../time/iso-time.ts";
import { uuidFromName } from "../../world/random.ts";
import type { World } from "../../world/world.ts";
import { deliverEvent } from "../deliveries/deliveries.ts";

/** Reports that the task has entered its present status. @see interface §6 */
export function emitTaskEvent(world: World, task: TaskRecord, withinRetryGrace: boolean): void {
  const name = taskEventNames[task.status];
  const failed = task.status === "FAILED";
  emitEvent(world, {
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

/** Reports that a stage has finished. @see interface §6, "Subtask payload" */
export function emitStageEvent(world: World, task: TaskRecord, stage: StageRecord): void {
  const name = stage.status === "FAILED" ? "subtask.failed" : "subtask.completed";
  const occurredAtMs = stage.completedAtMs ?? stage.startedAtMs;
  emitEvent(world, {
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

export interface DocumentsPull {
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
}

/** Reports that documents were pulled from a connected system. */
export function emitDocumentsSynced(world: World, pull: DocumentsPull): void {
  const name = "documents.synced";
  const occurredAtMs = world.clock.now();
  emitEvent(world, {
    id: () => uuidFromName(`pull/${pull.pullId}`),
    name,
    workspaceId: pull.workspaceId,
    subject: pull.clientId,
    occurredAtMs,
    payload: (id): EventPayloads["documents.synced"] => ({
      id,
      event: name,
      version: "2",
      occurredAt: isoTime(occurredAtMs),
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
 * Sends any event of the catalog with any payload, for future events. The fields of the envelope (`id`, `event`,
 * `version`, `occurredAt`, `workspaceId`) are added where the payload lacks them.
 */
export function emitCustomEvent(
  world: World,
  event: {
    readonly workspaceId: string;
    readonly name: string;
    readonly payload: object;
    readonly version?: string;
  },
): { readonly id: string; readonly occurredAtMs: number } {
  const { workspaceId, name, version = "2" } = event;
  const eventId = world.newId("event");
  const occurredAtMs = world.clock.now();
  emitEvent(world, {
    id: () => eventId,
    name,
    workspaceId,
    subject: eventId,
    occurredAtMs,
    payload: (id) => ({
      id,
      event: name,
      version,
      occurredAt: isoTime(occurredAtMs),
      workspaceId,
      ...event.payload,
    }),
  });
  return { id: eventId, occurredAtMs };
}

interface NewEvent extends Omit<EventRecord, "id" | "body"> {
  readonly id: () => string;
  readonly payload: (id: string) => object;
}

/** Reports the event to subscribers of the world's activity, and delivers it. */
function emitEvent(world: World, { id: createId, payload, ...fields }: NewEvent): void {
  const report = () => {
    const id = createId();
    if (world.hasSubscribers) {
      const { name, workspaceId, subject, occurredAtMs } = fields;
      const occurredAt = isoTime(occurredAtMs);
      world.emit({ type: "event.emitted", eventId: id, event: name, workspaceId, subject, occurredAt });
    }
    return id;
  };
  const delivered = deliverEvent(world, fields, () => {
    const id = report();
    return { id, ...fields, body: JSON.stringify(payload(id)) };
  });
  if (!delivered && world.hasSubscribers) report();
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
  occurredAt: isoTime(occurredAtMs),
  workspaceId: task.workspaceId,
  clientId: task.clientId,
  taskId: task.id,
  taskType: task.type,
});
