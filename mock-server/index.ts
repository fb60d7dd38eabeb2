export type { Clock, TimerOptions } from "@workspace-tasks/kernel/clock.ts";
export type { ControlApi } from "./control/control-api.ts";
export { type ControlClientOptions, createControlClient } from "./control/control-client.ts";
export type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryFilter,
  DeliverySummary,
  ExpectedDeliveries,
} from "./control/deliveries.ts";
export type { EndpointDetail, EndpointSummary } from "./control/endpoints.ts";
export type { ExpectedRequests, RecordedRequest, RequestFilter } from "./control/requests.ts";
export type { SeedView } from "./control/settings.ts";
export type {
  SetStageStatusInput,
  SetTaskStatusInput,
  StartTaskInput,
  TaskDetail,
  TaskSummary,
} from "./control/tasks.ts";
export type { NewWorld, WorldView } from "./control/worlds.ts";
export type { MockServer } from "./create-mock.ts";
export {
  isMockServerError,
  MockServerError,
  type MockServerErrorCode,
  type MockServerIssue,
  mockServerErrorCodes,
} from "./errors.ts";
export type { MockWorld, OverrideHandle } from "./mock-world.ts";
export type { MockWorlds } from "./named-worlds.ts";
export type { ConnectionCheck, ReceiverFunction } from "./outbound.ts";
export { createMockServer } from "./server.ts";
export type { MockServerOptions } from "./server-options.ts";
export type { SeedPlan } from "./settings/seed-plan.ts";
export type { Settings, SettingsChanges } from "./settings/settings.ts";
export type { Snapshot } from "./snapshot/snapshot-schema.ts";
export type { ApiFault, DeliveryFault, FaultPlan } from "./state/fault.ts";
export type { OverrideError, OverrideOptions } from "./state/override.ts";
export type { JournalEntry, StagePlan, TaskOutcome, TaskPlan } from "./state/records.ts";
export {
  createVirtualClock,
  type RunUntilOptions,
  type VirtualClock,
  type VirtualClockOptions,
} from "./time/virtual-clock.ts";
export type { OverriddenCall, OverrideFunction, OverrideResponse } from "./world/override-store.ts";
export type { MockClock } from "./world/world-holder.ts";
