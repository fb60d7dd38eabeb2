import type { RawTask } from "../../../../sdk/operations/tasks.ts";

/** A task as the service lists it. */
export const rawTask = (id: string, status: string, changes: Partial<RawTask> = {}): RawTask => ({
  id,
  type: "TAX_PREP",
  status: status as RawTask["status"],
  startedAt: "2026-01-15T12:00:00.000Z",
  completedAt: null,
  errorMessage: null,
  attributes: [],
  subTasks: [],
  result: { __typename: "TaskUnknownResult", taskType: "TAX_PREP" },
  client: null,
  triggeredBy: null,
  ...changes,
});
