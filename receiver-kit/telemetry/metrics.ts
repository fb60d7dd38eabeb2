// The metrics of receivers, intakes and consumers, as OpenTelemetry names them. Its exporter for Prometheus writes underscores for dots.

import type { RabbitmqConsumerStats, RabbitmqIntakeStats } from "../stats/broker-stats.ts";
import type { ReceiverStats } from "../stats/receiver-stats.ts";
import type { ObservedStats } from "../stats/receiver-telemetry.ts";

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Definition<Stats> {
  /** `counter` only increases while the process lives. */
  readonly type: "counter" | "gauge";
  /** As OpenTelemetry writes it: `s`, `By`, or what is counted in braces. */
  readonly unit: string;
  readonly help: string;
  /** Without the label `source`, which every sample has. */
  samples(stats: Stats): readonly Sample[];
}

/** It has no samples for stats of another kind. */
export interface Metric extends Definition<ObservedStats> {
  readonly name: string;
}

type StatsKind = "receiver" | "intake" | "consumer";

function kindOf(stats: ObservedStats): StatsKind {
  if ("published" in stats) return "intake";
  return "messages" in stats ? "consumer" : "receiver";
}

type Define = <Stats>(
  unit: string,
  help: string,
  samples: (stats: Stats) => readonly Sample[],
) => Definition<Stats>;

export const counter: Define = (unit, help, samples) => ({ type: "counter", unit, help, samples });
const gauge: Define = (unit, help, samples) => ({ type: "gauge", unit, help, samples });

/** Metrics of these kinds of stats, by their names without `workspace_tasks.`. */
const metricsOf = <Stats extends ObservedStats>(
  kinds: readonly StatsKind[],
  definitions: Readonly<Record<string, Definition<Stats>>>,
): readonly Metric[] =>
  Object.entries(definitions).map(([name, { samples, ...definition }]) => ({
    ...definition,
    name: `workspace_tasks.${name}`,
    samples: (stats) => (kinds.includes(kindOf(stats)) ? samples(stats as Stats) : []),
  }));

function byLabel(label: string, values: Readonly<Partial<Record<string, number>>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value: value ?? 0 }));
}

/** A number without labels. */
const single = (value: number): readonly Sample[] => [{ labels: {}, value }];

/** Milliseconds as seconds; none where it is `null`. */
const seconds = (ms: number | null, labels: Sample["labels"] = {}): readonly Sample[] =>
  ms === null ? [] : [{ labels, value: ms / 1_000 }];

export const receiverMetrics = metricsOf<ReceiverStats>(["receiver"], {
  "receiver.deliveries": counter(
    "{delivery}",
    "Deliveries that were acknowledged, by outcome: accepted, duplicate, quarantined.",
    ({ ingest: { accepted, duplicates, quarantined } }) =>
      byLabel("outcome", { accepted, duplicate: duplicates, quarantined }),
  ),
  "receiver.conflicts": counter(
    "{delivery}",
    "Duplicates with another body than the first delivery of their id.",
    ({ ingest }) => single(ingest.conflicts),
  ),
  "receiver.rejections": counter(
    "{request}",
    "Requests that were not acknowledged, by code.",
    ({ rejections }) => byLabel("code", rejections),
  ),
  "receiver.attempts": counter(
    "{attempt}",
    "Attempts to handle an event, by outcome: done, stale, retried, dead, released, lost.",
    ({ attempts }) => byLabel("outcome", attempts),
  ),
  "receiver.ignored": counter(
    "{event}",
    "Delivered events that no handler is registered for, by event; other after 100 names.",
    ({ ignored }) => byLabel("event", ignored),
  ),
  "receiver.late_queries": counter(
    "{query}",
    "Queries that were rejected because their handler had ended.",
    ({ lateQueries }) => single(lateQueries),
  ),
  "receiver.running": gauge("{event}", "Events whose handlers are running now.", ({ running }) =>
    single(running),
  ),
  "receiver.reconciled": counter(
    "{task}",
    "Tasks that reconciling read, and changes that no delivery had brought, by outcome: examined, enqueued, corrected.",
    ({ reconcile: { examined, enqueued, corrected } }) =>
      byLabel("outcome", { examined, enqueued, corrected }),
  ),
  "receiver.reconcile_failures": counter("{round}", "Rounds of reconciling that failed.", ({ reconcile }) =>
    single(reconcile.failed),
  ),
  "receiver.reconcile_age": gauge(
    "s",
    "Time since reconciling last succeeded in any process, or since the start; absent where it is not configured.",
    ({ reconcile: { succeededAgoMs } }) => seconds(succeededAgoMs),
  ),
  "receiver.outage": gauge(
    "s",
    "How long the inbox has failed to store deliveries or to claim events, by operation: store, claim; absent while it works.",
    ({ outage: { storingForMs, claimingForMs } }) => [
      ...seconds(storingForMs, { operation: "store" }),
      ...seconds(claimingForMs, { operation: "claim" }),
    ],
  ),
  "inbox.rows": gauge(
    "{row}",
    "Rows of the whole inbox, up to 1,000 of each state, by state: waiting, dead, quarantined.",
    ({ inbox }) => byLabel("state", inbox.rows),
  ),
  "inbox.oldest_pending": gauge(
    "s",
    "Age of the longest waiting due row of the whole inbox; absent when none waits.",
    ({ inbox: { oldestPendingMs } }) => seconds(oldestPendingMs && Math.max(0, oldestPendingMs)),
  ),
});

const intakeMetrics = metricsOf<RabbitmqIntakeStats>(["intake"], {
  "intake.published": counter(
    "{delivery}",
    "Deliveries that an intake published, by outcome: confirmed, returned, nacked, timedOut, interrupted, unsent.",
    ({ published }) => byLabel("outcome", { ...published }),
  ),
  "intake.rejections": counter(
    "{request}",
    "Requests that an intake did not acknowledge, by code.",
    ({ rejections }) => byLabel("code", rejections),
  ),
  "intake.in_flight": gauge(
    "{delivery}",
    "Deliveries without a publisher confirm now.",
    ({ inFlight: { messages } }) => single(messages),
  ),
  "intake.in_flight_size": gauge(
    "By",
    "Bytes of the deliveries without a publisher confirm now.",
    ({ inFlight: { bytes } }) => single(bytes),
  ),
  "intake.outage": gauge(
    "s",
    "How long no delivery could be published; absent while they can.",
    ({ failingForMs }) => seconds(failingForMs),
  ),
});

const connectionMetrics = metricsOf<RabbitmqIntakeStats | RabbitmqConsumerStats>(["intake", "consumer"], {
  "rabbitmq.connections_lost": counter(
    "{connection}",
    "Connections to RabbitMQ that were lost and replaced, by side: intake, consumer.",
    (stats) => [{ labels: { side: kindOf(stats) }, value: stats.connection.lost }],
  ),
  "rabbitmq.unavailable": gauge(
    "s",
    "How long there has been no connection to RabbitMQ, by side; absent while there is one.",
    (stats) => seconds(stats.connection.unavailableForMs, { side: kindOf(stats) }),
  ),
  "rabbitmq.blocked": gauge(
    "s",
    "How long RabbitMQ has read nothing, because it is short of memory or disk, by side; absent while it reads.",
    (stats) => seconds(stats.connection.blockedForMs, { side: kindOf(stats) }),
  ),
});

const consumerMetrics = metricsOf<RabbitmqConsumerStats>(["consumer"], {
  "consumer.messages": counter(
    "{message}",
    "Messages of a consumer, by outcome: delivered, redelivered, stored, failed, parked, released.",
    ({ messages }) => byLabel("outcome", { ...messages }),
  ),
  "consumer.waiting": gauge(
    "{message}",
    "Messages in this process that are not stored yet, by queue.",
    ({ queues }) => queues.map(({ queue, waiting }) => ({ labels: { queue }, value: waiting })),
  ),
  "consumer.outage": gauge(
    "s",
    "How long the inbox has stored no message, by queue; absent while it stores them.",
    ({ queues }) => queues.flatMap(({ queue, failingForMs }) => seconds(failingForMs, { queue })),
  ),
  "consumer.active": gauge(
    "{queue}",
    "1 for a queue that this process consumes or stands by for, 0 for one that it has left, by queue.",
    ({ queues }) =>
      queues.map(({ queue, isConsuming }) => ({ labels: { queue }, value: Number(isConsuming) })),
  ),
});

/** Those of intakes and consumers on RabbitMQ. */
export const brokerMetrics = [...intakeMetrics, ...connectionMetrics, ...consumerMetrics];

export const metrics: readonly Metric[] = [...receiverMetrics, ...brokerMetrics];
