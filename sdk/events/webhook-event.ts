import { z } from "zod";
import { documentsSyncedSchema } from "./documents-synced-event.ts";
import { parseOccurredAt } from "./occurred-at.ts";
import {
  type DocumentsSyncedEvent,
  readableDocumentsSynced,
  readableStage,
  readableTask,
  type SubtaskCompletedEvent,
  type SubtaskEvent,
  type SubtaskFailedEvent,
  type TaskCompletedEvent,
  type TaskEvent,
  type TaskFailedEvent,
  type TaskRunningEvent,
} from "./readable-event.ts";
import {
  subtaskCompletedSchema,
  subtaskFailedSchema,
  taskCompletedSchema,
  taskFailedSchema,
  taskRunningSchema,
} from "./task-event.ts";

/** The payload schema of each event in the catalog, by name: what the service sends. @see interface §6 */
export const eventSchemas = {
  "task.running": taskRunningSchema,
  "task.completed": taskCompletedSchema,
  "task.failed": taskFailedSchema,
  "subtask.completed": subtaskCompletedSchema,
  "subtask.failed": subtaskFailedSchema,
  "documents.synced": documentsSyncedSchema,
} as const;

export type KnownEventName = keyof typeof eventSchemas;

/** What handlers receive for each event in the catalog. */
export interface EventPayloads {
  readonly "task.running": TaskRunningEvent;
  readonly "task.completed": TaskCompletedEvent;
  readonly "task.failed": TaskFailedEvent;
  readonly "subtask.completed": SubtaskCompletedEvent;
  readonly "subtask.failed": SubtaskFailedEvent;
  readonly "documents.synced": DocumentsSyncedEvent;
}

export type KnownEvent = EventPayloads[KnownEventName];

/** An event of another name, or one of `task.…` or `subtask.…` without their envelope; its fields are unchecked. */
export interface UnknownEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

/**
 * Any event that the service may deliver. Call `isKnownEvent`, `isTaskEvent` or `isSubtaskEvent` first: an unknown name
 * can be any string, so a comparison of `event` alone does not narrow.
 */
export type WebhookEvent = KnownEvent | TaskEvent | SubtaskEvent | UnknownEvent;

/** How each event of the catalog is read. Its status must not contradict its name. */
const readable: Readonly<Record<KnownEventName, z.ZodType<KnownEvent>>> = {
  "task.running": withStatus(readableTask, "RUNNING"),
  "task.completed": withStatus(readableTask, "COMPLETED"),
  "task.failed": withStatus(readableTask, "FAILED"),
  "subtask.completed": withStatus(readableStage, "COMPLETED"),
  "subtask.failed": withStatus(readableStage, "FAILED"),
  "documents.synced": readableDocumentsSynced as unknown as z.ZodType<KnownEvent>,
};

function withStatus(schema: z.ZodObject, status: string): z.ZodType<KnownEvent> {
  return schema.extend({ status: z.literal(status) }) as unknown as z.ZodType<KnownEvent>;
}

const unknownEventSchema = z.looseObject({ event: z.string().min(1) });

/** Names of the events in the catalog, in its order. */
export const knownEventNames = Object.keys(eventSchemas) as readonly KnownEventName[];

export function isKnownEventName(name: string): name is KnownEventName {
  return Object.hasOwn(eventSchemas, name);
}

/** True for `task.running`, `task.completed`, `task.failed`, and any other `task.…` event with their envelope. */
export function isTaskEvent(event: WebhookEvent): event is TaskEvent {
  return event.event.startsWith("task.") && hasEnvelope(event);
}

/** True for `subtask.completed`, `subtask.failed`, and any other `subtask.…` event with their envelope. */
export function isSubtaskEvent(event: WebhookEvent): event is SubtaskEvent {
  return event.event.startsWith("subtask.") && hasEnvelope(event) && isIdentifier(event["subTaskId"]);
}

function hasEnvelope({ id, taskId, status, occurredAt }: UnknownEvent): boolean {
  const isOrdered = typeof occurredAt === "string" && parseOccurredAt(occurredAt) !== undefined;
  return isOrdered && isIdentifier(id) && isIdentifier(taskId) && isIdentifier(status);
}

function isIdentifier(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** True for an event of the catalog; compare its `event` field then. */
export function isKnownEvent(event: WebhookEvent): event is KnownEvent {
  return isKnownEventName(event.event);
}

export interface EventIssue {
  readonly path: string;
  readonly message: string;
}

export type ParsedEvent =
  | { readonly ok: true; readonly event: WebhookEvent }
  | { readonly ok: false; readonly issues: readonly EventIssue[] };

/**
 * Parses a decoded JSON value as an event. Never throws.
 *
 * Only the envelope decides: name, id, time, task (and stage) and status. Details that are absent or of another form
 * than the interface shows are left out, or `null` where they may be; unknown fields are kept. An event with an unknown
 * name is never rejected: it is a `TaskEvent` or a `SubtaskEvent` when it has their envelope, else an `UnknownEvent`. The
 * issues contain fields and expectations, never received values.
 *
 * @see interface §6, §9
 */
export function parseEvent(value: unknown): ParsedEvent {
  const name = nameOf(value);
  const schema = name === undefined || !isKnownEventName(name) ? unknownEventSchema : readable[name];
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { ok: false, issues: toIssues(parsed.error) };
  return { ok: true, event: schema === unknownEventSchema ? readUnknown(parsed.data) : parsed.data };
}

function nameOf(value: unknown): string | undefined {
  const name = typeof value === "object" && value !== null ? (value as { event?: unknown }).event : undefined;
  return typeof name === "string" ? name : undefined;
}

function readUnknown(event: UnknownEvent): WebhookEvent {
  const schema = isTaskEvent(event) ? readableTask : isSubtaskEvent(event) ? readableStage : undefined;
  const parsed = schema?.safeParse(event);
  return parsed?.success ? (parsed.data as unknown as TaskEvent | SubtaskEvent) : event;
}

function toIssues(error: z.ZodError): readonly EventIssue[] {
  return error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
}
