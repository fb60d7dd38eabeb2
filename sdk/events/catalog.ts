// Imports no schemas: the mock server reads the catalog at its start and zod later.

import { catalogTaskTypes } from "./task-type.ts";
import type { KnownEventName } from "./webhook-event.ts";

export interface CatalogEntry {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Task status that the event reports; an empty string for an event that is not about a task. */
  readonly status: string;
  readonly taskTypes: readonly string[];
}

const about: Record<KnownEventName, { status: string; description: string }> = {
  "task.running": { status: "RUNNING", description: "A task started to run." },
  "task.completed": { status: "COMPLETED", description: "A task finished successfully." },
  "task.failed": { status: "FAILED", description: "A task failed." },
  "subtask.completed": { status: "COMPLETED", description: "A stage of a task finished successfully." },
  "subtask.failed": { status: "FAILED", description: "A stage of a task failed." },
  "documents.synced": { status: "", description: "Documents were pulled from a connected system." },
};

/** The six events of the interface, without their payload schemas. @see interface §6 */
export const eventCatalog: readonly CatalogEntry[] = Object.entries(about).map(([name, entry]) => ({
  name,
  version: "2",
  ...entry,
  taskTypes: entry.status === "" ? [] : catalogTaskTypes,
}));
