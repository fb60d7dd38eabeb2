/** A payload to serialize; some checks send values that no event type allows. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Each makes a payload; `overrides` replace or add fields. */
export type SampleEvents = Record<"task" | "stage" | "documents", (overrides?: JsonObject) => JsonObject>;

/**
 * Payloads of version 2 with the fields of the interface. Each contains the canary, so that a response that
 * repeats a payload is recognized.
 *
 * @see interface §6
 */
export function createSampleEvents(canary: string, nextId: () => string, now: () => number): SampleEvents {
  const envelope = () => ({
    id: nextId(),
    version: "2",
    occurredAt: new Date(now()).toISOString(),
    workspaceId: "audit-workspace",
    clientId: canary,
  });
  const taskFields = () => ({ ...envelope(), taskId: nextId(), taskType: "TAX_PREP", errorMessage: null });
  return {
    task: (overrides) => ({
      event: "task.running",
      status: "RUNNING",
      ...taskFields(),
      taxPrepResult: null,
      customerError: null,
      ...overrides,
    }),
    stage: (overrides) => ({
      event: "subtask.completed",
      status: "COMPLETED",
      ...taskFields(),
      subTaskId: nextId(),
      subTaskType: "tax-extraction",
      ...overrides,
    }),
    documents: (overrides) => ({
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
  const item = { severity: "info", category: "audit", description: "review item" };
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
      reviewItems: Array.from({ length: reviewItemCount }, () => item),
    },
  };
}
