// The metrics of receivers, intakes and consumers, as OpenTelemetry names them. Its exporter for Prometheus writes underscores for dots.

import { brokerMetrics } from "./broker-metrics.ts";
import { byLabel, type Metric, ofReceiver, seconds, single } from "./metric.ts";

export const receiverMetrics: readonly Metric[] = [
  {
    name: "workspace_tasks.receiver.deliveries",
    type: "counter",
    unit: "{delivery}",
    help: "Deliveries that were acknowledged, by outcome.",
    samples: ofReceiver(({ ingest: { accepted, duplicates, quarantined } }) =>
      byLabel("outcome", { accepted, duplicate: duplicates, quarantined }),
    ),
  },
  {
    name: "workspace_tasks.receiver.conflicts",
    type: "counter",
    unit: "{delivery}",
    help: "Duplicates with another body than the first delivery of their id.",
    samples: ofReceiver(({ ingest }) => single(ingest.conflicts)),
  },
  {
    name: "workspace_tasks.receiver.rejections",
    type: "counter",
    unit: "{request}",
    help: "Requests that were not acknowledged, by error code.",
    samples: ofReceiver(({ rejections }) => byLabel("code", rejections)),
  },
  {
    name: "workspace_tasks.receiver.attempts",
    type: "counter",
    unit: "{attempt}",
    help: "Attempts to handle an event, by outcome.",
    samples: ofReceiver(({ attempts }) => byLabel("outcome", attempts)),
  },
  {
    name: "workspace_tasks.receiver.late_queries",
    type: "counter",
    unit: "{query}",
    help: "Queries that were rejected because their handler had ended.",
    samples: ofReceiver(({ lateQueries }) => single(lateQueries)),
  },
  {
    name: "workspace_tasks.receiver.running",
    type: "gauge",
    unit: "{event}",
    help: "Events whose handlers are running now.",
    samples: ofReceiver(({ running }) => single(running)),
  },
  {
    name: "workspace_tasks.receiver.outage",
    type: "gauge",
    unit: "s",
    help: "How long the inbox has failed to store deliveries, or to claim events; absent while it works.",
    samples: ofReceiver(({ outage: { storingForMs, claimingForMs } }) => [
      ...seconds(storingForMs, { operation: "store" }),
      ...seconds(claimingForMs, { operation: "claim" }),
    ]),
  },
  {
    name: "workspace_tasks.inbox.clock_jumps",
    type: "counter",
    unit: "{jump}",
    help: "How often the clock of the inbox was set by more than a second.",
    samples: ofReceiver(({ clock }) => single(clock.jumps)),
  },
  {
    name: "workspace_tasks.inbox.rows",
    type: "gauge",
    unit: "{row}",
    help: "Rows of the whole inbox, by state.",
    samples: ofReceiver(({ inbox }) => byLabel("state", inbox.rows)),
  },
  {
    name: "workspace_tasks.inbox.oldest_pending",
    type: "gauge",
    unit: "s",
    help: "Age of the longest waiting due row of the whole inbox; absent when none waits.",
    samples: ofReceiver(({ inbox: { oldestPendingMs } }) =>
      seconds(oldestPendingMs === null ? null : Math.max(0, oldestPendingMs)),
    ),
  },
];

export const metrics: readonly Metric[] = [...receiverMetrics, ...brokerMetrics];
