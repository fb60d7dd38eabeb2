// Types of the control API, shared with the mock.
export type { DeliveryAttempt, DeliverySummary } from "../../../control/contract/deliveries.ts";
export type { EndpointDetail, EndpointSummary } from "../../../control/contract/endpoints.ts";
export type { FiredFaultView } from "../../../control/contract/faults.ts";
export type { Page } from "../../../control/contract/fields.ts";
export type { ClockView, Overview } from "../../../control/contract/mock.ts";
export type { RecordedRequest } from "../../../control/contract/requests.ts";
export type { TaskDetail, TaskSummary } from "../../../control/contract/tasks.ts";
export type { FaultPlan } from "../../../state/fault.ts";
