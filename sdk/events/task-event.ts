import { z } from "zod";
import { occurredAtSchema } from "./occurred-at.ts";

// Payloads as the service sends them. Every object is loose and every nullable field may be absent: the service may add
// fields.

const identifier = z.string().min(1);

/** Fields of every event about a task or one of its stages. */
const taskEnvelope = {
  id: identifier.describe("Deterministic UUID of this status event."),
  version: z.string().describe("Version of the payload's schema."),
  occurredAt: occurredAtSchema.describe("ISO 8601 time at which the status was entered."),
  workspaceId: identifier.describe("Owning workspace."),
  clientId: identifier.describe("Client associated with the task."),
  taskId: identifier.describe("Task whose status changed."),
  taskType: z.string().describe("Task type; an open set."),
  errorMessage: z.string().nullable().default(null).describe("Raw failure text, null otherwise."),
};

export const taxPrepResultSchema = z.looseObject({
  taxYear: z.int(),
  returnType: z.string(),
  summary: z.string(),
  documentCount: z.int(),
  extractedFormCount: z.int(),
  reviewItemCount: z.int(),
  reviewItems: z.array(
    z.looseObject({ severity: z.string(), category: z.string(), description: z.string() }),
  ),
});

export const customerErrorSchema = z.looseObject({
  code: z.string().describe("Stable classification to branch on; an open set."),
  action: z.looseObject({
    type: z.string().describe("What the customer can do; an open set."),
    connectionId: z.string().nullable().default(null),
  }),
});

const taskFields = {
  ...taskEnvelope,
  taxPrepResult: taxPrepResultSchema.nullable().default(null).describe("Only on task.completed of TAX_PREP."),
  customerError: customerErrorSchema
    .nullable()
    .default(null)
    .describe("Only on task.failed, and null while the failure is within the retry grace period."),
};

const stageFields = {
  ...taskEnvelope,
  subTaskId: identifier.describe("Stage whose status changed."),
  subTaskType: z.string().describe("Stage name; free text that grows without a version change."),
};

export const taskRunningSchema = z.looseObject({
  event: z.literal("task.running"),
  status: z.literal("RUNNING"),
  ...taskFields,
});

export const taskCompletedSchema = z.looseObject({
  event: z.literal("task.completed"),
  status: z.literal("COMPLETED"),
  ...taskFields,
});

export const taskFailedSchema = z.looseObject({
  event: z.literal("task.failed"),
  status: z.literal("FAILED"),
  ...taskFields,
});

export const subtaskCompletedSchema = z.looseObject({
  event: z.literal("subtask.completed"),
  status: z.literal("COMPLETED"),
  ...stageFields,
});

export const subtaskFailedSchema = z.looseObject({
  event: z.literal("subtask.failed"),
  status: z.literal("FAILED"),
  ...stageFields,
});

export type TaxPrepResult = z.infer<typeof taxPrepResultSchema>;
export type CustomerError = z.infer<typeof customerErrorSchema>;
