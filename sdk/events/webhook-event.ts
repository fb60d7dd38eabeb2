import * as z from "zod";
import { events, isKnownEventName, type KnownEventName, knownEventNames } from "./catalog.ts";
import { absentFields, type documentsFields, fieldsOfKind, stageFields, taskFields } from "./event-fields.ts";
import { type ReadOf, readObject, sentObject } from "./field.ts";
import { parseOccurredAt } from "./occurred-at.ts";

interface Additional {
  /** What the service has added to its events since this version: fields that its types do not name, unchecked. */
  readonly additional: Readonly<Record<string, unknown>>;
}

/** An event about a task: those of the catalog, and any `task.…` event with the same envelope that is added later. */
export interface TaskEvent extends ReadOf<typeof taskFields>, Additional {
  readonly event: `task.${string}`;
  /** `RUNNING`, `COMPLETED`, `FAILED`, or what is added later. */
  readonly status: "RUNNING" | "COMPLETED" | "FAILED" | (string & {});
}

/** An event about a stage of a task: those of the catalog, and any `subtask.…` event with the same envelope. */
export interface SubtaskEvent extends ReadOf<typeof stageFields>, Additional {
  readonly event: `subtask.${string}`;
  readonly status: "COMPLETED" | "FAILED" | (string & {});
}

export interface DocumentsSyncedEvent extends ReadOf<typeof documentsFields>, Additional {
  readonly event: "documents.synced";
}

/** What is read of each kind of event. */
interface EventOfKind {
  readonly task: TaskEvent;
  readonly stage: SubtaskEvent;
  readonly documents: DocumentsSyncedEvent;
}

type Row<Name extends KnownEventName> = (typeof events)[Name];

/** What handlers receive for each event in the catalog: its name and status are literals. */
export type EventPayloads = {
  readonly [Name in KnownEventName]: EventOfKind[Row<Name>["kind"]] & {
    readonly event: Name;
  } & (Row<Name>["status"] extends "" ? unknown : { readonly status: Row<Name>["status"] });
};

export type KnownEvent = EventPayloads[KnownEventName];

/** An event of another name, or one of `task.…` or `subtask.…` without their envelope; its fields are in `additional`. */
export interface UnknownEvent extends Additional {
  readonly event: string;
}

/**
 * Any event that the service may deliver. Call `isKnownEvent`, `isTaskEvent` or `isSubtaskEvent` first: an unknown name
 * can be any string, so a comparison of `event` alone does not narrow.
 */
export type WebhookEvent = KnownEvent | TaskEvent | SubtaskEvent | UnknownEvent;

// An event must have its name, and a status must not contradict it.
const literals = (name: KnownEventName) => {
  const { status } = events[name];
  return { event: z.literal(name), ...(status === "" ? {} : { status: z.literal(status) }) };
};

const byName = <Value>(read: (name: KnownEventName) => Value) =>
  Object.fromEntries(knownEventNames.map((name) => [name, read(name)])) as Readonly<
    Record<KnownEventName, Value>
  >;

/**
 * The payload schema of each event in the catalog, by name: exactly what the service sends. `parseEvent` is tolerant.
 *
 * @see interface §6
 */
export const eventSchemas = byName((name) =>
  z
    .looseObject(literals(name))
    .extend(sentObject(fieldsOfKind[events[name].kind]).shape)
    .extend(sentBy(name))
    .refine((event) => absentFields[events[name].kind].every((field) => !Object.hasOwn(event, field)), {
      message: "expected no field of another kind of event",
    })
    .refine((event) => event["taxPrepResult"] == null || event["taskType"] === "TAX_PREP", {
      message: "expected no result of another type than TAX_PREP",
      path: ["taxPrepResult"],
    }),
);

/** What the service sends in this event and not in the others of its kind. */
function sentBy(name: KnownEventName): z.ZodRawShape {
  const { kind, status } = events[name];
  if (kind !== "task" && kind !== "stage") return {};
  const nothing = z.null();
  const errorMessage = status === "FAILED" ? z.string().describe("Raw failure text.") : nothing;
  if (kind === "stage") return { errorMessage };
  return {
    errorMessage,
    ...(status === "COMPLETED" ? {} : { taxPrepResult: nothing }),
    ...(status === "FAILED" ? {} : { customerError: nothing }),
  };
}

const readable = byName((name) => readObject(fieldsOfKind[events[name].kind]).extend(literals(name)));

// Its name is not one of the catalog, and its status any text.
const withStatus = { status: z.string().min(1) };
const readableTask = readObject(taskFields).extend(withStatus);
const readableStage = readObject(stageFields).extend(withStatus);

/** The fields that the type of an event names; the others are apart. */
function closed(read: object, names: ReadonlySet<string>): WebhookEvent {
  const named: Record<string, unknown> = {};
  const others: [string, unknown][] = [];
  for (const [name, value] of Object.entries(read)) {
    if (names.has(name)) named[name] = value;
    else others.push([name, value]);
  }
  // Of the fields that are not known one may be `__proto__`.
  return Object.assign(named, { additional: Object.fromEntries(others) }) as unknown as WebhookEvent;
}

const namesOf = (fields: object) => new Set(["event", ...Object.keys(fields)]);
const unknownNames = namesOf({});
const taskNames = namesOf({ ...taskFields, ...withStatus });
const stageNames = namesOf({ ...stageFields, ...withStatus });
const knownNames = byName((name) => namesOf({ ...fieldsOfKind[events[name].kind], ...literals(name) }));

const unknownEventSchema = z.looseObject({ event: z.string().min(1) });

/** True for `task.running`, `task.completed`, `task.failed`, and any other `task.…` event with their envelope. */
export function isTaskEvent(event: WebhookEvent): event is TaskEvent {
  return isNamed(event, "task.") && hasEnvelope(event);
}

/** True for `subtask.completed`, `subtask.failed`, and any other `subtask.…` event with their envelope. */
export function isSubtaskEvent(event: WebhookEvent): event is SubtaskEvent {
  return (
    isNamed(event, "subtask.") && hasEnvelope(event) && "subTaskId" in event && isIdentifier(event.subTaskId)
  );
}

/** False also for a value that `parseEvent` has not made. */
const isNamed = (event: unknown, start: string) => nameOf(event)?.startsWith(start) === true;

function hasEnvelope(event: object): boolean {
  const { id, taskId, status, occurredAt } = event as Readonly<Record<string, unknown>>;
  const isOrdered = typeof occurredAt === "string" && parseOccurredAt(occurredAt) !== undefined;
  return isOrdered && isIdentifier(id) && isIdentifier(taskId) && isIdentifier(status);
}

function isIdentifier(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** True for an event of the catalog; compare its `event` field then. */
export function isKnownEvent(event: WebhookEvent): event is KnownEvent {
  return isKnownEventName(nameOf(event) ?? "");
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
 * than the interface shows are left out, or `null` where they may be. Unknown fields of the event are in `additional`; those of
 * objects within it are kept in their places, without a type. An event with an unknown name is never rejected: it is a
 * `TaskEvent` or a `SubtaskEvent` when it has their envelope, else an `UnknownEvent`. The issues contain fields and
 * expectations, never received values.
 *
 * @see interface §6, §9
 */
export function parseEvent(value: unknown): ParsedEvent {
  const name = nameOf(value) ?? "";
  const isKnown = isKnownEventName(name);
  const parsed = (isKnown ? readable[name] : unknownEventSchema).safeParse(value);
  if (!parsed.success) return { ok: false, issues: toIssues(parsed.error) };
  const event = isKnown ? closed(parsed.data, knownNames[name]) : readUnknown(parsed.data);
  return { ok: true, event };
}

function nameOf(value: unknown): string | undefined {
  const name = typeof value === "object" && value !== null ? (value as { event?: unknown }).event : undefined;
  return typeof name === "string" ? name : undefined;
}

function readUnknown(read: object): WebhookEvent {
  const event = read as WebhookEvent;
  const isTask = isTaskEvent(event);
  const schema = isTask ? readableTask : isSubtaskEvent(event) ? readableStage : undefined;
  const parsed = schema?.safeParse(read);
  if (!parsed?.success) return closed(read, unknownNames);
  return closed(parsed.data, isTask ? taskNames : stageNames);
}

function toIssues(error: z.ZodError): readonly EventIssue[] {
  return error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
}
