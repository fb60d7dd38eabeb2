// Types of the control API, shared with the mock.
export type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliverySummary,
} from "../../../control/contract/deliveries.ts";
export type { EndpointDetail, EndpointSummary } from "../../../control/contract/endpoints.ts";
export type { CatalogEvent } from "../../../control/contract/events.ts";
export type { FaultsView, FiredFaultView } from "../../../control/contract/faults.ts";
export type { Page } from "../../../control/contract/fields.ts";
export type { ClockView, Overview } from "../../../control/contract/mock.ts";
export type { RecordedRequest, RequestDetail } from "../../../control/contract/requests.ts";
export type { SearchHit } from "../../../control/contract/search.ts";
export type { ListedTask, TaskDetail } from "../../../control/contract/tasks.ts";
export type { ApiFault, DeliveryFault } from "../../../state/fault.ts";
