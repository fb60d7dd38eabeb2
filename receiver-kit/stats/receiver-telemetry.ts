import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import type { RabbitmqConsumerStats, RabbitmqIntakeStats } from "./broker-stats.ts";
import type { DeliveryTelemetry } from "./delivery-telemetry.ts";
import type { ReceiverStats } from "./receiver-stats.ts";

/** What `stats()` of a receiver, an intake or a consumer returns. */
export type ObservedStats = ReceiverStats | RabbitmqIntakeStats | RabbitmqConsumerStats;

/** Starts to report, where there is telemetry; the returned function ends it. Its failures are its own. */
export function observe(
  telemetry: Pick<ReceiverTelemetry, "observe"> | undefined,
  readStats: () => Promise<ObservedStats>,
): () => void {
  let stop: unknown;
  callSafely(() => {
    stop = telemetry?.observe(readStats);
    return stop;
  });
  return () => callSafely(() => (typeof stop === "function" ? stop() : undefined));
}

/** Where a receiver reports to; `openTelemetry(api)` of `@workspace-tasks/receiver-kit/telemetry` is one. */
export interface ReceiverTelemetry extends DeliveryTelemetry {
  /** Called at the start of a receiver, an intake or a consumer; the returned function when it closes. */
  observe(readStats: () => Promise<ObservedStats>): () => void;
}
