export type { Clock } from "./clock.ts";
export type { Admin } from "./control/admin.ts";
export type { ReceiverFunction } from "./delivery/outside.ts";
export type { ApiFault, DeliveryFault, FaultPlan } from "./faults/fault.ts";
export type { MockClock } from "./mock-clock.ts";
export type { JournalEntry } from "./request-journal.ts";
export { createMockServer, type MockServer, type MockServerOptions } from "./server.ts";
export type { Settings, SettingsChanges } from "./settings.ts";
export { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";
