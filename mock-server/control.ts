// The control API as a page in a browser uses it: the inspector. Not public: it changes with any release.

export { createControlClient } from "./control/control-client.ts";
export type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliverySummary,
} from "./control/deliveries.ts";
export type { EndpointDetail, EndpointSummary } from "./control/endpoints.ts";
export type { FaultsView, FiredFaultView } from "./control/faults.ts";
export type { Page } from "./control/fields.ts";
export type { ClockView, Overview } from "./control/mock.ts";
export type { RecordedRequest, RequestDetail } from "./control/requests.ts";
export type { SearchHit } from "./control/search.ts";
export type { ListedTask, TaskDetail } from "./control/tasks.ts";
export type { ApiKeyView } from "./control/workspaces.ts";
export { isMockServerError } from "./errors.ts";
export { operationDocuments } from "./generated/operation-documents.ts";
export { schemaText } from "./generated/schema-text.ts";
export { defaultSettings } from "./settings/settings.ts";
export type { ApiFault, DeliveryFault, FaultPlan, ProbabilisticFault } from "./state/fault.ts";
