// The control API as a page in a browser uses it: the inspector. Not public: it changes with any release.

export type { Page } from "./control/contract/fields.ts";
export { createControlClient } from "./control/control-client.ts";
export type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliverySummary,
} from "./control/deliveries/delivery-routes.ts";
export type { EndpointDetail, EndpointSummary } from "./control/endpoints/endpoint-routes.ts";
export type { FaultsView, FiredFaultView } from "./control/faults/fault-routes.ts";
export type { ApiKeyView } from "./control/keys/key-routes.ts";
export type { ClockView, Overview } from "./control/mock/mock-routes.ts";
export type { RecordedRequest, RequestDetail } from "./control/requests/request-routes.ts";
export type { SearchHit } from "./control/search/search-routes.ts";
export type { ListedTask, TaskDetail } from "./control/tasks/task-routes.ts";
export { isMockServerError } from "./errors.ts";
export { operationDocuments } from "./generated/operation-documents.ts";
export { schemaText } from "./generated/schema-text.ts";
export { defaultSettings } from "./settings/settings.ts";
export type { ApiFault, DeliveryFault, FaultPlan, ProbabilisticFault } from "./state/fault.ts";
