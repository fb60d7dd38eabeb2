export {
  type CatalogEntry,
  catalogTaskTypes,
  eventCatalog,
  isKnownEventName,
  type KnownEventName,
  knownEventNames,
  type TaskType,
} from "./catalog.ts";
export { exampleEvent } from "./example-event.ts";
export { parseOccurredAt } from "./occurred-at.ts";
export { type JsonSchema, payloadJsonSchema } from "./payload-schema.ts";
export {
  type DocumentsSyncedEvent,
  type EventIssue,
  type EventPayloads,
  eventSchemas,
  isKnownEvent,
  isSubtaskEvent,
  isTaskEvent,
  type KnownEvent,
  type ParsedEvent,
  parseEvent,
  type SubtaskEvent,
  type TaskEvent,
  type UnknownEvent,
  type WebhookEvent,
} from "./webhook-event.ts";
