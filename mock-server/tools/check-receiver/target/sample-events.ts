import { exampleEvent, type KnownEventName } from "@workspace-tasks/events";

/** A payload to serialize; some checks send values that no event type allows. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Payloads with the fields of the interface. Each contains the canary, so that a response that repeats a payload is
 * recognized. `overrides` replace or add fields.
 *
 * @see interface §6
 */
export function createSampleEvents(canary: string, nextId: () => string, now: () => number) {
  const of = (name: KnownEventName, overrides?: JsonObject): JsonObject => {
    const example = exampleEvent(name);
    const subjects = ["taskId", "subTaskId"].filter((field) => field in example);
    return {
      ...example,
      id: nextId(),
      occurredAt: new Date(now()).toISOString(),
      workspaceId: "audit-workspace",
      clientId: canary,
      ...Object.fromEntries(subjects.map((field) => [field, nextId()])),
      ...overrides,
    };
  };
  return {
    of,
    task: (overrides?: JsonObject) => of("task.running", overrides),
    stage: (overrides?: JsonObject) => of("subtask.completed", overrides),
    documents: (overrides?: JsonObject) => of("documents.synced", overrides),
  };
}

export type SampleEvents = ReturnType<typeof createSampleEvents>;

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
