import { z } from "zod";
import { documentsSyncedSchema } from "./documents-synced-event.ts";
import {
  subtaskCompletedSchema,
  subtaskFailedSchema,
  taskCompletedSchema,
  taskFailedSchema,
  taskRunningSchema,
} from "./task-event.ts";

/** The schema of each event in the catalog, by name. @see interface §6 */
export const eventSchemas = {
  "task.running": taskRunningSchema,
  "task.completed": taskCompletedSchema,
  "task.failed": taskFailedSchema,
  "subtask.completed": subtaskCompletedSchema,
  "subtask.failed": subtaskFailedSchema,
  "documents.synced": documentsSyncedSchema,
} as const;

export type KnownEventName = keyof typeof eventSchemas;
export type EventPayloads = { [Name in KnownEventName]: z.infer<(typeof eventSchemas)[Name]> };
export type KnownEvent = EventPayloads[KnownEventName];
export type TaskEvent = EventPayloads["task.running" | "task.completed" | "task.failed"];
export type SubtaskEvent = EventPayloads["subtask.completed" | "subtask.failed"];

/** An event that this version has no schema for; its fields are unchecked. */
export interface UnknownEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

/**
 * Any event that the service may deliver. Call `isKnownEvent` first, then compare `event`: an unknown name can be any
 * string, so a comparison alone does not narrow.
 */
export type WebhookEvent = KnownEvent | UnknownEvent;

const unknownEventSchema = z.looseObject({ event: z.string().min(1) });

/** Names of the events in the catalog, in its order. */
export const knownEventNames = Object.keys(eventSchemas) as readonly KnownEventName[];

export function isKnownEventName(name: string): name is KnownEventName {
  return Object.hasOwn(eventSchemas, name);
}

/** True for `task.running`, `task.completed` and `task.failed`. */
export function isTaskEvent(event: WebhookEvent): event is TaskEvent {
  return isKnownEventName(event.event) && event.event.startsWith("task.");
}

/** True for `subtask.completed` and `subtask.failed`. */
export function isSubtaskEvent(event: WebhookEvent): event is SubtaskEvent {
  return isKnownEventName(event.event) && event.event.startsWith("subtask.");
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
 * Unknown fields are kept, an event with an unknown name is an `UnknownEvent`, absent nullable fields become `null`. The
 * issues contain fields and expectations, never received values.
 *
 * @see interface §6, §9
 */
export function parseEvent(value: unknown): ParsedEvent {
  const named = unknownEventSchema.safeParse(value);
  if (!named.success) return { ok: false, issues: toIssues(named.error) };
  const name = named.data.event;
  if (!isKnownEventName(name)) return { ok: true, event: named.data };
  const parsed = eventSchemas[name].safeParse(value);
  if (!parsed.success) return { ok: false, issues: toIssues(parsed.error) };
  return { ok: true, event: parsed.data };
}

function toIssues(error: z.ZodError): readonly EventIssue[] {
  return error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
}
