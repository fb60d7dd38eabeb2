/** A JSON object as text is made from it; the audit also sends things that no type would allow. */
export type JsonObject = { readonly [field: string]: unknown };

export type SampleEvents = {
  /** A task event; `overrides` replace or add fields. */
  task(overrides?: JsonObject): JsonObject;
  stage(overrides?: JsonObject): JsonObject;
  documents(overrides?: JsonObject): JsonObject;
};

/**
 * Payloads of version 2 as the interface lists their fields. Every one carries the canary, so that an
 * answer which repeats a payload is recognised.
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

/** What `task.completed` of a tax preparation adds, with as many review items as asked for. */
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
