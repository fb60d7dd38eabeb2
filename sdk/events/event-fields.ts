// The fields of each kind of event. @see interface §6

import * as z from "zod";
import { catalogTaskTypes, type EventKind, payloadVersion, type TaskType } from "./catalog.ts";
import * as f from "./field.ts";
import { occurredAtSchema } from "./occurred-at.ts";

const identifier = z.string().min(1);
/** The id of an event is a UUID as it is sent. */
const eventId = { sent: z.uuid().describe("Deterministic UUID of this status event."), read: identifier };
const version: f.Field<string, string> = {
  sent: z.literal(payloadVersion).describe("Version of the payload's schema."),
  read: z.string(),
};
const taskType: f.Field<TaskType, TaskType> = {
  sent: z.enum(catalogTaskTypes).describe("Task type of the catalog."),
  read: z.string(),
};
const text = f.detail(z.string());
const integer = f.detail(z.int());

/** The fields of every event about a task or one of its stages. */
const common = {
  /** Deterministic UUID of this status event: the same in every delivery of it. */
  id: eventId,
  version: f.optional(version),
  /** When the status was entered, RFC 3339. */
  occurredAt: f.envelope(occurredAtSchema.describe("ISO 8601 time at which the status was entered.")),
  workspaceId: f.detail(identifier.describe("Owning workspace.")),
  clientId: f.detail(identifier.describe("Client associated with the task.")),
  taskId: f.envelope(identifier.describe("Task whose status changed.")),
  taskType: f.optional(taskType),
  errorMessage: f.nullable(f.envelope(z.string()), "Raw failure text, null otherwise."),
};

const taxPrepFields = {
  taxYear: integer,
  returnType: text,
  summary: text,
  documentCount: integer,
  extractedFormCount: integer,
  reviewItemCount: integer,
  reviewItems: f.list(f.object({ severity: text, category: text, description: text })),
};

// Named, so that declaration files refer to them and do not repeat their fields.
export interface TaxPrepResult extends f.SentOf<typeof taxPrepFields> {}
export interface EventTaxPrepResult extends f.ReadOf<typeof taxPrepFields> {}
export interface CustomerError extends f.SentOf<typeof customerErrorFields> {}
export interface EventCustomerError extends f.ReadOf<typeof customerErrorFields> {}

/** The result of a tax preparation. */
export const taxPrepResult: f.Field<TaxPrepResult, EventTaxPrepResult> = f.object(taxPrepFields);

const customerErrorFields = {
  /** To branch on; an open set. */
  code: f.detail(z.string().describe("Stable classification to branch on; an open set.")),
  action: f.optional(
    f.object({
      type: f.detail(z.string().describe("What the customer can do; an open set.")),
      connectionId: f.nullable(f.envelope(z.string())),
    }),
  ),
};

/** Why a task failed. */
export const customerError: f.Field<CustomerError, EventCustomerError> = f.object(customerErrorFields);

export const taskFields = {
  ...common,
  /** Only on `task.completed` of `TAX_PREP`. */
  taxPrepResult: f.nullable(taxPrepResult, "Only on task.completed of TAX_PREP."),
  /** Only on `task.failed`, and null while the failure is within the retry grace period. */
  customerError: f.nullable(
    customerError,
    "Only on task.failed, and null while the failure is within the retry grace period.",
  ),
};

export const stageFields = {
  ...common,
  subTaskId: f.envelope(identifier.describe("Stage whose status changed.")),
  /** Name of the stage; an open set. */
  subTaskType: f.detail(z.string().describe("Stage name; free text that grows without a version change.")),
};

const syncedDocument = f.object({ inputDocumentId: text, fileName: text, mimeType: text });

// The interface names the fields about the pull; the envelope and the name of the list are beyond it, and may be absent.
export const documentsFields = {
  id: f.optional({ sent: z.uuid(), read: z.string() }),
  version: f.optional(version),
  occurredAt: f.detail(occurredAtSchema),
  workspaceId: f.detail(identifier),
  clientId: f.detail(identifier),
  connectionId: text,
  providerKey: text,
  /** Folder or project in the connected system. */
  sourceExternalId: f.detail(z.string().describe("Folder or project in the connected system.")),
  documents: f.list(syncedDocument),
  /** Files of the same pull that were already held and left out. */
  duplicateCount: f.count("Files of the same pull that were already held and left out."),
};

export const fieldsOfKind = {
  task: taskFields,
  stage: stageFields,
  documents: documentsFields,
} satisfies Readonly<Record<EventKind, f.Fields>>;

/** Fields that events of a kind never have. */
export const absentFields: Readonly<Record<EventKind, readonly string[]>> = {
  task: [],
  stage: ["taxPrepResult", "customerError"],
  documents: ["status", "taskType"],
};

export type SyncedDocument = z.infer<typeof syncedDocument.sent>;
