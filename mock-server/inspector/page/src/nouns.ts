// What the control API answers, in the mock's own types, so that page and mock cannot drift apart.
export type {
  EndpointView,
  Overview,
  Page,
  SecretView,
  TaskHistory,
  TaskSummary,
} from "../../../control/inspection-controls.ts";
export type { ClockView, LimitView } from "../../../control/state-controls.ts";
export type {
  ApiKeyView,
  AttemptView,
  DeliverySummary,
  DeliveryView,
  FiredFaultView,
  RequestView,
} from "../../../control/views.ts";
