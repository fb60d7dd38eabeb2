export type { Admin } from "./control/admin.ts";
export { ControlError, type ControlErrorCode, type ControlIssue } from "./control/control-error.ts";
export type { NewTask, StageMove, TaskMove } from "./control/task-controls.ts";
export type { AttemptView, DeliverySummary, DeliveryView, RequestView, TaskView } from "./control/views.ts";
export {
  isMockServerError,
  MockServerError,
  type MockServerErrorCode,
  mockServerErrorCodes,
  type ServiceErrorCode,
} from "./errors.ts";
export type { ReceiverFunction } from "./outbound/in-process-transport.ts";
export type { ConnectionCheck } from "./outbound/port.ts";
export { ServiceError } from "./rules/service-error.ts";
export { createMockServer, type MockServer } from "./server.ts";
export type { MockServerOptions } from "./server-options.ts";
export type { Settings, SettingsChanges } from "./settings.ts";
export { SnapshotError } from "./snapshot/snapshot-error.ts";
export type { Snapshot } from "./snapshot/snapshot-schema.ts";
export type { ApiFault, DeliveryFault, FaultPlan } from "./state/fault.ts";
export type { JournalEntry } from "./state/journal-entry.ts";
export type { StagePlan, TaskOutcome, TaskPlan } from "./state/task-plan.ts";
export type { Clock } from "./time/clock.ts";
export type { MockClock } from "./time/mock-clock.ts";
export { createVirtualClock, type VirtualClock } from "./time/virtual-clock.ts";
