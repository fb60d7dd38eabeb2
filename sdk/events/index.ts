export { type CatalogEntry, catalogTaskTypes, eventCatalog, type TaskType } from "./catalog.ts";
export {
  type DocumentsSyncedEvent,
  documentsSyncedSchema,
  type SyncedDocument,
} from "./documents-synced-event.ts";
export { occurredAtSchema, parseOccurredAt } from "./occurred-at.ts";
export { type JsonSchema, payloadJsonSchema } from "./payload-schema.ts";
export {
  type CustomerError,
  customerErrorSchema,
  type SubtaskCompletedEvent,
  type SubtaskFailedEvent,
  subtaskCompletedSchema,
  subtaskFailedSchema,
  type TaskCompletedEvent,
  type TaskFailedEvent,
  type TaskRunningEvent,
  type TaxPrepResult,
  taskCompletedSchema,
  taskFailedSchema,
  taskRunningSchema,
  taxPrepResultSchema,
} from "./task-event.ts";
export {
  type EventIssue,
  type EventPayloads,
  eventSchemas,
  isKnownEvent,
  isKnownEventName,
  isSubtaskEvent,
  isTaskEvent,
  type KnownEvent,
  type KnownEventName,
  knownEventNames,
  type ParsedEvent,
  parseEvent,
  type SubtaskEvent,
  type TaskEvent,
  type UnknownEvent,
  type WebhookEvent,
} from "./webhook-event.ts";
