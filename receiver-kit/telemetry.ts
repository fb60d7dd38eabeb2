export type { AcceptEnd, AcceptStart, HandleStart } from "./delivery-telemetry.ts";
export type { ReceiverTelemetry } from "./receiver-stats.ts";
export { openMetricsContentType, renderOpenMetrics } from "./telemetry/open-metrics.ts";
export { type OpenTelemetryOptions, openTelemetry } from "./telemetry/open-telemetry.ts";
export type { OpenTelemetryApi } from "./telemetry/open-telemetry-api.ts";
