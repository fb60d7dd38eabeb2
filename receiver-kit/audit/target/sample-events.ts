/** A payload to serialize; some checks send values that no event type allows. */
export interface JsonObject {
  readonly [field: string]: unknown;
}

export interface SampleEvents {
  /** A task event; `overrides` replace or add fields. */
  task(overrides?: JsonObject): JsonObject;
  stage(overrides?: JsonObject): JsonObject;
  documents(overrides?: JsonObject): JsonObject;
}

/**
 * Payloads of version 2 with the fields of the interface. Each contains the canary, so that a response that
 * repeats a payload is recognized.
 *
 * @see interface §6
 */
export function createSampleEvents(options: {
  readonly canary: string;
  readonly nextId: () => string;
  readonly now: () => number;
}): SampleEvents {
  const { canary, nextId, now } = options;
  const envelope = () => ({
    id: nextId(),
    version: "2",
    occurredAt: new Date(now()).toISOString(),
    workspaceId: "audit-workspace",
    clientId: canary,
  });
  const taskFields = () => ({ taskId: nextId(), taskType: "TAX_PREP", errorMessage: null });
  return {
    task: (overrides = {}) => ({
      event: "task.running",
      status: "RUNNING",
      ...envelope(),
      ...taskFields(),
      taxPrepResult: null,
      customerError: null,
      ...overrides,
    }),
    stage: (overrides = {}) => ({
      event: "subtask.completed",
      status: "COMPLETED",
      ...envelope(),
      ...taskFields(),
      subTaskId: nextId(),
      subTaskType: "tax-extraction",
      ...overrides,
    }),
    documents: (overrides = {}) => ({
      event: "documents.synced",
      ...envelope(),
      connectionId: "audit-connection",
      providerKey: "audit-provider",
      sourceExternalId: "folder-1",
      documents: [{ inputDocumentId: nextId(), fileName: "w2.pdf", mimeType: "application/pdf" }],
      duplicateCount: 0,
      ...overrides,
    }),
  };
}

/** The fields that `task.completed` of a tax preparation adds. */
export function completedTaxPrep(reviewItemCount = 1): JsonObject {
  return {
    event: "task.completed",
    status: "COMPLETED",
    taxPrepResult: {
      taxYear: 2025,
      returnType: "F1040",
      summary: "audit",
      documentCount: 1,
      extractedFormCount: 1,
      reviewItemCount,
      reviewItems: Array.from({ length: reviewItemCount }, (_, index) => ({
        severity: "info",
        category: "audit",
        description: `review item ${index}`,
      })),
    },
  };
}
