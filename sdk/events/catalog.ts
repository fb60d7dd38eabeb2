// The one list of events. Whatever needs all of them is typed by it, so that what is missing does not compile. Imports no
// schemas: the mock server reads the catalog at its start and zod later.

/** The release of this package, which those that use it compare with their own. */
export { version } from "@workspace-tasks/kernel/version.ts";

/** Task types with events, according to the catalog. An open set. @see interface §6 */
export const catalogTaskTypes = ["BINDER", "TAX_PREP", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"] as const;

/** A task type of the catalog, or any other string. */
export type TaskType = (typeof catalogTaskTypes)[number] | (string & {});

/** Events of one kind have the same fields: event-fields.ts. */
export type EventKind = "task" | "stage" | "documents";

interface EventRow {
  readonly kind: EventKind;
  /** Status that the event reports; an empty string for an event that is not about a task. */
  readonly status: string;
  readonly description: string;
  /** What it adds to the example of its kind. */
  readonly example?: Readonly<Record<string, unknown>>;
}

export const events = {
  "task.running": { kind: "task", status: "RUNNING", description: "A task started to run." },
  "task.completed": {
    kind: "task",
    status: "COMPLETED",
    description: "A task finished successfully.",
    example: {
      taxPrepResult: {
        taxYear: 2025,
        returnType: "F1040",
        summary: "Prepared from 3 documents.",
        documentCount: 3,
        extractedFormCount: 2,
        reviewItemCount: 1,
        reviewItems: [
          { severity: "info", category: "income", description: "Compare the wages with last year." },
        ],
      },
    },
  },
  "task.failed": {
    kind: "task",
    status: "FAILED",
    description: "A task failed.",
    example: {
      errorMessage: "The document cannot be read.",
      customerError: { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } },
    },
  },
  "subtask.completed": {
    kind: "stage",
    status: "COMPLETED",
    description: "A stage of a task finished successfully.",
  },
  "subtask.failed": {
    kind: "stage",
    status: "FAILED",
    description: "A stage of a task failed.",
    example: { errorMessage: "The document cannot be read." },
  },
  "documents.synced": {
    kind: "documents",
    status: "",
    description: "Documents were pulled from a connected system.",
  },
} as const satisfies Readonly<Record<string, EventRow>>;

export type KnownEventName = keyof typeof events;

/** Names of the events in the catalog, in its order. */
export const knownEventNames = Object.keys(events) as readonly KnownEventName[];

export const isKnownEventName = (name: string): name is KnownEventName =>
  typeof name === "string" && Object.hasOwn(events, name);

/** Throws for a name that is not in the catalog. */
export function requireEventName(caller: string, name: KnownEventName): void {
  if (isKnownEventName(name)) return;
  const got = typeof name === "string" ? JSON.stringify(name) : `a value of type ${typeof name}`;
  throw new TypeError(`${caller}: name: expected one of ${knownEventNames.join(", ")}, got ${got}`);
}

export interface CatalogEntry {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Status that the event reports; an empty string for an event that is not about a task. */
  readonly status: string;
  readonly taskTypes: readonly string[];
}

/** Version of the payloads that this package knows. */
export const payloadVersion = "2";

/** The events of the interface, without their payload schemas. @see interface §6 */
export const eventCatalog: readonly CatalogEntry[] = knownEventNames.map((name) => {
  const { status, description } = events[name];
  const taskTypes = status === "" ? [] : catalogTaskTypes;
  return { name, description, version: payloadVersion, status, taskTypes };
});
