// The body is serialised once: what is stored is what is signed and sent, byte for byte. Ids are derived from
// the change, so that the same change always has the same id (E2). An event without an endpoint is not stored.

import type { KnownEventName } from "@workspace-tasks/events";
import { type CatalogEntry, eventCatalog, payloadVersion } from "@workspace-tasks/events/catalog";
import type { SyncedDocument } from "@workspace-tasks/events/fields";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import type { CatalogAdditionRecord, EventRecord, StageRecord, TaskRecord } from "../state/records.ts";
import { isoTime } from "../time/duration.ts";
import type { World } from "../world/world.ts";
import { deliverEvent } from "./deliveries.ts";
import { badInput, conflict } from "./service-error.ts";

/** Reports that the task has entered its present status. @see interface §6 */
export function emitTaskEvent(world: World, task: TaskRecord, withinRetryGrace: boolean): void {
  if (!hasEvents(world, task)) return;
  const failed = task.status === "FAILED";
  emitEvent(world, {
    id: () => world.random.uuidOf(`task/${task.id}/${task.changes}`),
    name: taskEventNames[task.status],
    workspaceId: task.workspaceId,
    subject: task.id,
    occurredAtMs: task.changedAtMs,
    fields: () => ({
      ...taskFields(task),
      status: task.status,
      errorMessage: failed ? task.errorMessage : null,
      taxPrepResult: task.status === "COMPLETED" && task.type === "TAX_PREP" ? task.result : null,
      customerError: failed && !withinRetryGrace ? task.customerError : null,
    }),
  });
}

const taskEventNames = {
  RUNNING: "task.running",
  COMPLETED: "task.completed",
  FAILED: "task.failed",
} as const;

/** Reports that a stage has finished. @see interface §6, "Subtask payload" */
export function emitStageEvent(world: World, task: TaskRecord, stage: StageRecord): void {
  if (!hasEvents(world, task)) return;
  emitEvent(world, {
    id: () => world.random.uuidOf(`stage/${stage.id}/${stage.status}`),
    name: stage.status === "FAILED" ? "subtask.failed" : "subtask.completed",
    workspaceId: task.workspaceId,
    subject: task.id,
    occurredAtMs: stage.completedAtMs ?? stage.startedAtMs,
    fields: () => ({
      ...taskFields(task),
      status: stage.status,
      subTaskId: stage.id,
      subTaskType: stage.type,
      errorMessage: stage.status === "FAILED" ? stage.errorMessage : null,
    }),
  });
}

/** The catalog names the task types "for which the event is emitted". @see interface §2 */
const hasEvents = ({ settings }: World, { type }: TaskRecord) =>
  settings.tasks.typesWithEvents.includes(type);

const taskFields = ({ clientId, id, type }: TaskRecord) => ({ clientId, taskId: id, taskType: type });

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
export function emitDocumentsSynced(world: World, { pullId, workspaceId, ...fields }: DocumentsPull): void {
  emitEvent(world, {
    id: () => world.random.uuidOf(`pull/${pullId}`),
    name: "documents.synced",
    workspaceId,
    subject: fields.clientId,
    occurredAtMs: world.clock.now(),
    fields: () => fields,
  });
}

/**
 * Sends any event of the catalog with any payload, for future events. The fields of the envelope (`id`, `event`,
 * `version`, `occurredAt`, `workspaceId`) are added where the payload lacks them.
 * @returns the event's id
 */
export function emitCustomEvent(
  world: World,
  { workspaceId, name, payload, endpointId }: CustomEvent,
): string {
  const id = world.newId("event");
  emitEvent(world, {
    id: () => id,
    name,
    workspaceId,
    subject: id,
    occurredAtMs: world.clock.now(),
    fields: () => payload,
    endpointId,
  });
  return id;
}

interface CustomEvent {
  readonly workspaceId: string;
  readonly name: string;
  readonly payload: object;
  /** Delivers it to this endpoint alone, subscribed or not. */
  readonly endpointId?: string | undefined;
}

interface NewEvent extends Omit<EventRecord, "id" | "body"> {
  readonly id: () => string;
  /** The payload without the envelope. */
  readonly fields: () => object;
  readonly endpointId?: string | undefined;
}

/** Reports the event to subscribers of the world's activity, and delivers it. */
function emitEvent(world: World, event: NewEvent): void {
  const { name, workspaceId, subject, occurredAtMs } = event;
  const report = () => {
    const eventId = event.id();
    if (world.hasSubscribers) {
      const occurredAt = isoTime(occurredAtMs);
      world.emit({ type: "event.emitted", eventId, event: name, workspaceId, subject, occurredAt });
    }
    return eventId;
  };
  const delivered = deliverEvent(world, event, () => {
    const id = report();
    const version = versionOf(world, name);
    const envelope = { id, event: name, version, occurredAt: isoTime(occurredAtMs), workspaceId };
    const body = JSON.stringify({ ...envelope, ...event.fields() });
    return { id, name, workspaceId, subject, occurredAtMs, body };
  });
  if (!delivered && world.hasSubscribers) report();
}

/** Every event the service can deliver: the interface's six, then those added at run time. */
export const listCatalog = (world: World): readonly CatalogEntry[] => [
  ...eventCatalog.map((entry) =>
    entry.taskTypes.length === 0 ? entry : { ...entry, taskTypes: world.settings.tasks.typesWithEvents },
  ),
  ...world.state.catalogAdditions.values(),
];

const knownNames: ReadonlySet<string> = new Set(eventCatalog.map(({ name }) => name));

export const isCatalogEvent = (world: World, name: string): boolean =>
  knownNames.has(name) || world.state.catalogAdditions.has(name);

/** The version of the payload, as the catalog gives it. */
const versionOf = ({ state }: World, name: string): string =>
  state.catalogAdditions.get(name)?.version ?? payloadVersion;

/** Why no delivery can have an event of this name; `undefined` for one of the catalog. */
export function describeUnknownEvent(world: World, name: string): string | undefined {
  if (isCatalogEvent(world, name)) return undefined;
  const names = listCatalog(world).map((entry) => entry.name);
  return `unknown event ${name}${didYouMean(name, names) || "; add it to the catalog first, with addCatalogEvent"}`;
}

/** The JSON Schema (Draft 7) of an event's payload; `null` for an event that the catalog does not have. */
export async function payloadSchemaOf(world: World, name: string): Promise<Record<string, unknown> | null> {
  const addition = world.state.catalogAdditions.get(name);
  if (addition) return addition.payloadSchema;
  if (!knownNames.has(name)) return null;
  const { payloadJsonSchema } = await import("@workspace-tasks/events");
  return { ...payloadJsonSchema(name as KnownEventName, world.settings.tasks.typesWithEvents) };
}

/** Default: version `2`, no description, status or task types, and a schema with the event's name alone. */
type CatalogAddition = Pick<CatalogEntry, "name"> & {
  readonly [Field in keyof Omit<CatalogAdditionRecord, "name">]?:
    | Readonly<CatalogAdditionRecord[Field]>
    | undefined;
};

/**
 * Adds a future event to the catalog, as the service may do at any time (E6). Endpoints without `eventTypes`
 * receive it from now on.
 */
export function addToCatalog(world: World, addition: CatalogAddition): CatalogEntry {
  const { name, description = "", version = payloadVersion, status = "", taskTypes = [] } = addition;
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name)) {
    throw badInput(`event name must look like "noun.verb", got "${name}"`);
  }
  if (isCatalogEvent(world, name)) throw conflict(`event "${name}" is already in the catalog`);
  const payloadSchema = { ...(addition.payloadSchema ?? plainPayloadSchema(name)) };
  const entry = { name, description, version, status, taskTypes: [...taskTypes], payloadSchema };
  world.state.catalogAdditions.set(name, entry);
  world.emit({ type: "catalog.added", name });
  return entry;
}

const plainPayloadSchema = (name: string) => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: name,
  type: "object",
  properties: { event: { const: name } },
  required: ["event"],
});
