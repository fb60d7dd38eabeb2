// How delivered events are read. Only the envelope decides whether an event is usable: what is needed to find its task
// or stage and to order it. A detail that is absent or of another form than the interface shows is left out, so that no
// event is lost for a field that its handlers may not even use. The payload schemas, which the catalog publishes, are
// strict.

import { z } from "zod";
import { occurredAtSchema } from "./occurred-at.ts";
import type { TaskType } from "./task-type.ts";

/** Fields of every event about a task or one of its stages. */
interface TaskEventFields {
  /** Unknown fields are kept. */
  readonly [field: string]: unknown;
  /** Deterministic UUID of this status event: the same in every delivery of it. */
  readonly id: string;
  /** When the status was entered, RFC 3339. */
  readonly occurredAt: string;
  readonly taskId: string;
  readonly version?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly taskType?: TaskType | undefined;
  readonly errorMessage: string | null;
}

/** The result of a tax preparation, as far as the event has it in the form of the interface. */
export interface EventTaxPrepResult {
  readonly [field: string]: unknown;
  readonly taxYear?: number | undefined;
  readonly returnType?: string | undefined;
  readonly summary?: string | undefined;
  readonly documentCount?: number | undefined;
  readonly extractedFormCount?: number | undefined;
  readonly reviewItemCount?: number | undefined;
  readonly reviewItems: readonly {
    readonly [field: string]: unknown;
    readonly severity?: string | undefined;
    readonly category?: string | undefined;
    readonly description?: string | undefined;
  }[];
}

/** Why a task failed, as far as the event has it in the form of the interface. */
export interface EventCustomerError {
  readonly [field: string]: unknown;
  /** To branch on; an open set. */
  readonly code?: string | undefined;
  readonly action?:
    | {
        readonly [field: string]: unknown;
        readonly type?: string | undefined;
        readonly connectionId: string | null;
      }
    | undefined;
}

/** An event about a task: those of the catalog, and any `task.…` event with the same envelope that is added later. */
export interface TaskEvent extends TaskEventFields {
  readonly event: `task.${string}`;
  /** `RUNNING`, `COMPLETED`, `FAILED`, or what is added later. */
  readonly status: "RUNNING" | "COMPLETED" | "FAILED" | (string & {});
  /** Only on `task.completed` of `TAX_PREP`. */
  readonly taxPrepResult: EventTaxPrepResult | null;
  /** Only on `task.failed`, and null while the failure is within the retry grace period. */
  readonly customerError: EventCustomerError | null;
}

/** An event about a stage of a task: those of the catalog, and any `subtask.…` event with the same envelope. */
export interface SubtaskEvent extends TaskEventFields {
  readonly event: `subtask.${string}`;
  readonly status: "COMPLETED" | "FAILED" | (string & {});
  readonly subTaskId: string;
  /** Name of the stage; an open set. */
  readonly subTaskType?: string | undefined;
}

export interface TaskRunningEvent extends TaskEvent {
  readonly event: "task.running";
  readonly status: "RUNNING";
}

export interface TaskCompletedEvent extends TaskEvent {
  readonly event: "task.completed";
  readonly status: "COMPLETED";
}

export interface TaskFailedEvent extends TaskEvent {
  readonly event: "task.failed";
  readonly status: "FAILED";
}

export interface SubtaskCompletedEvent extends SubtaskEvent {
  readonly event: "subtask.completed";
  readonly status: "COMPLETED";
}

export interface SubtaskFailedEvent extends SubtaskEvent {
  readonly event: "subtask.failed";
  readonly status: "FAILED";
}

export interface DocumentsSyncedEvent {
  readonly [field: string]: unknown;
  readonly event: "documents.synced";
  readonly id?: string | undefined;
  readonly version?: string | undefined;
  readonly occurredAt?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly connectionId?: string | undefined;
  readonly providerKey?: string | undefined;
  /** Folder or project in the connected system. */
  readonly sourceExternalId?: string | undefined;
  readonly documents: readonly {
    readonly [field: string]: unknown;
    readonly inputDocumentId?: string | undefined;
    readonly fileName?: string | undefined;
    readonly mimeType?: string | undefined;
  }[];
  /** Files of the same pull that were already held and left out. */
  readonly duplicateCount: number;
}

/** Left out where it is absent or of another form. */
const detail = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);
const text = detail(z.string());
const integer = detail(z.int());
const nullable = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null).catch(null);

/** The entries that are objects; empty where it is not a list. */
const listOf = <Entry extends z.ZodType>(entry: Entry) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((entries) =>
      entries.flatMap((each) => {
        const parsed = entry.safeParse(each);
        return parsed.success ? [parsed.data] : [];
      }),
    );

const identifier = z.string().min(1);

const envelope = { id: identifier, occurredAt: occurredAtSchema, taskId: identifier, status: identifier };

const details = {
  version: text,
  workspaceId: detail(identifier),
  clientId: detail(identifier),
  taskType: text,
  errorMessage: nullable(z.string()),
};

const taxPrepResult = z.looseObject({
  ...{ taxYear: integer, returnType: text, summary: text },
  ...{ documentCount: integer, extractedFormCount: integer, reviewItemCount: integer },
  reviewItems: listOf(z.looseObject({ severity: text, category: text, description: text })),
});

const action = z.looseObject({ type: text, connectionId: nullable(z.string()) });

const taskDetails = {
  ...details,
  taxPrepResult: nullable(taxPrepResult),
  customerError: nullable(z.looseObject({ code: text, action: detail(action) })),
};

const stageDetails = { ...details, subTaskType: text };

export const readableTask = z.looseObject({ ...envelope, ...taskDetails });
export const readableStage = z.looseObject({ ...envelope, subTaskId: identifier, ...stageDetails });

export const readableDocumentsSynced = z.looseObject({
  ...{ id: text, version: text, occurredAt: detail(occurredAtSchema) },
  ...{ workspaceId: detail(identifier), clientId: detail(identifier) },
  ...{ connectionId: text, providerKey: text, sourceExternalId: text },
  documents: listOf(z.looseObject({ inputDocumentId: text, fileName: text, mimeType: text })),
  duplicateCount: z.int().nonnegative().default(0).catch(0),
});
