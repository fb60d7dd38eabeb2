// The metrics of a receiver, once, for OpenMetrics and for OpenTelemetry: `workspace_tasks.receiver.attempts` is the
// instrument of OpenTelemetry and, with underscores and the suffix of its type, the family of OpenMetrics. That is also
// what OpenTelemetry's exporter for Prometheus makes of it.

import type { ReceiverStats } from "../receiver-stats.ts";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  /** `counter` only increases while the process lives. */
  readonly type: "counter" | "gauge";
  /** As OpenTelemetry writes it: `s`, or what is counted in braces. */
  readonly unit: string;
  readonly help: string;
  /** Without the label `source`, which every sample has. */
  samples(stats: ReceiverStats): readonly Sample[];
}

export const metrics: readonly Metric[] = [
  {
    name: "workspace_tasks.receiver.deliveries",
    type: "counter",
    unit: "{delivery}",
    help: "Deliveries that were acknowledged, by outcome.",
    samples: ({ ingest: { accepted, duplicates, quarantined } }) =>
      byLabel("outcome", { accepted, duplicate: duplicates, quarantined }),
  },
  {
    name: "workspace_tasks.receiver.conflicts",
    type: "counter",
    unit: "{delivery}",
    help: "Duplicates with another body than the first delivery of their id.",
    samples: ({ ingest }) => [{ labels: {}, value: ingest.conflicts }],
  },
  {
    name: "workspace_tasks.receiver.rejections",
    type: "counter",
    unit: "{request}",
    help: "Requests that were not acknowledged, by error code.",
    samples: ({ rejections }) => byLabel("code", rejections),
  },
  {
    name: "workspace_tasks.receiver.attempts",
    type: "counter",
    unit: "{attempt}",
    help: "Attempts to handle an event, by outcome.",
    samples: ({ attempts }) => byLabel("outcome", attempts),
  },
  {
    name: "workspace_tasks.receiver.running",
    type: "gauge",
    unit: "{event}",
    help: "Events whose handlers are running now.",
    samples: ({ running }) => [{ labels: {}, value: running }],
  },
  {
    name: "workspace_tasks.receiver.outage",
    type: "gauge",
    unit: "s",
    help: "How long the inbox has failed to store deliveries, or to claim events; absent while it works.",
    samples: ({ outage: { storingForMs, claimingForMs } }) =>
      Object.entries({ store: storingForMs, claim: claimingForMs }).flatMap(([operation, forMs]) =>
        forMs === null ? [] : [{ labels: { operation }, value: forMs / 1_000 }],
      ),
  },
  {
    name: "workspace_tasks.inbox.clock_jumps",
    type: "counter",
    unit: "{jump}",
    help: "How often the clock of the inbox was set by more than a second.",
    samples: ({ clock }) => [{ labels: {}, value: clock.jumps }],
  },
  {
    name: "workspace_tasks.inbox.rows",
    type: "gauge",
    unit: "{row}",
    help: "Rows of the whole inbox, by state.",
    samples: ({ inbox }) => byLabel("state", inbox.rows),
  },
  {
    name: "workspace_tasks.inbox.oldest_pending",
    type: "gauge",
    unit: "s",
    help: "Age of the longest waiting due row of the whole inbox; absent when none waits.",
    samples: ({ inbox: { oldestPendingMs } }) =>
      oldestPendingMs === null ? [] : [{ labels: {}, value: Math.max(0, oldestPendingMs) / 1_000 }],
  },
];

function byLabel(label: string, values: Readonly<Partial<Record<string, number>>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value: value ?? 0 }));
}
