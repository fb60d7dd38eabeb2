import type { RabbitmqConsumerStats, RabbitmqIntakeStats } from "./broker-stats.ts";
import type { DeliveryTelemetry } from "./delivery-telemetry.ts";
import type { ReceiverStats } from "./receiver-stats.ts";

/** What `stats()` of a receiver, an intake or a consumer returns. */
export type ObservedStats = ReceiverStats | RabbitmqIntakeStats | RabbitmqConsumerStats;

/** Where a receiver reports to; `openTelemetry(api)` of `workspace-tasks/receiver-kit/telemetry` is one. */
export interface ReceiverTelemetry extends DeliveryTelemetry {
  /** Called at the start of a receiver, an intake or a consumer; the returned function when it closes. */
  observe(readStats: () => Promise<ObservedStats>): () => void;
}
