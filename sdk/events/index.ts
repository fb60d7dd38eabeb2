export { type CatalogEntry, eventCatalog } from "./catalog.ts";
export { documentsSyncedSchema, type SyncedDocument } from "./documents-synced-event.ts";
export { occurredAtSchema, parseOccurredAt } from "./occurred-at.ts";
export { type JsonSchema, payloadJsonSchema } from "./payload-schema.ts";
export type {
  DocumentsSyncedEvent,
  EventCustomerError,
  EventTaxPrepResult,
  SubtaskCompletedEvent,
  SubtaskEvent,
  SubtaskFailedEvent,
  TaskCompletedEvent,
  TaskEvent,
  TaskFailedEvent,
  TaskRunningEvent,
} from "./readable-event.ts";
export {
  type CustomerError,
  customerErrorSchema,
  subtaskCompletedSchema,
  subtaskFailedSchema,
  type TaxPrepResult,
  taskCompletedSchema,
  taskFailedSchema,
  taskRunningSchema,
  taxPrepResultSchema,
} from "./task-event.ts";
export { catalogTaskTypes, type TaskType } from "./task-type.ts";
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
  type UnknownEvent,
  type WebhookEvent,
} from "./webhook-event.ts";
