import { randomUUID } from "node:crypto";

/** A valid `task.running` event of a new task; `fields` override or add. */
export function sampleEvent(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    id: randomUUID(),
    event: "task.running",
    version: "2",
    occurredAt: "2026-03-01T09:30:00.000Z",
    workspaceId: "workspace-1",
    clientId: "client-1",
    taskId: randomUUID(),
    taskType: "TAX_PREP",
    status: "RUNNING",
    errorMessage: null,
    taxPrepResult: null,
    customerError: null,
    ...fields,
  };
}

/** A valid `task.completed` event; `fields` override or add. */
export function completedEvent(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return sampleEvent({ event: "task.completed", status: "COMPLETED", ...fields });
}

/** A valid `subtask.completed` event; `fields` override or add. */
export function stageEvent(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const { taxPrepResult, customerError, ...envelope } = sampleEvent();
  return {
    ...envelope,
    event: "subtask.completed",
    status: "COMPLETED",
    subTaskId: randomUUID(),
    subTaskType: "tax-extraction",
    ...fields,
  };
}
