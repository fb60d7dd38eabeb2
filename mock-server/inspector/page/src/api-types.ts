// Types of the control API, shared with the mock.

export type {
  ApiFault,
  ApiKeyView,
  ClockView,
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryFault,
  DeliverySummary,
  EndpointDetail,
  EndpointSummary,
  FaultsView,
  FiredFaultView,
  ListedTask,
  Overview,
  Page,
  RecordedRequest,
  RequestDetail,
  SearchHit,
  TaskDetail,
} from "@workspace-tasks/mock-server/control";
