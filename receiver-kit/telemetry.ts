export type { AcceptEnd, AcceptStart, HandleStart } from "./stats/delivery-telemetry.ts";
export type { ObservedStats, ReceiverTelemetry } from "./stats/receiver-telemetry.ts";
export {
  type OpenTelemetryApi,
  type OpenTelemetryOptions,
  openTelemetry,
} from "./telemetry/open-telemetry.ts";
