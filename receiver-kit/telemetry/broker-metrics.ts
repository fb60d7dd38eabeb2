import type { BrokerConnectionStats } from "../stats/broker-stats.ts";
import type { ObservedStats } from "../stats/receiver-telemetry.ts";
import {
  byLabel,
  kindOf,
  type Metric,
  ofConsumer,
  ofIntake,
  type Sample,
  seconds,
  single,
} from "./metric.ts";

const ofConnection =
  (samples: (connection: BrokerConnectionStats, side: Sample["labels"]) => readonly Sample[]) =>
  (stats: ObservedStats) =>
    "connection" in stats ? samples(stats.connection, { side: kindOf(stats) }) : [];

/** Those of intakes and consumers on RabbitMQ. */
export const brokerMetrics: readonly Metric[] = [
  {
    name: "workspace_tasks.intake.published",
    type: "counter",
    unit: "{delivery}",
    help: "Deliveries that an intake published, by what became of their messages.",
    samples: ofIntake(({ published }) => byLabel("outcome", { ...published })),
  },
  {
    name: "workspace_tasks.intake.duplicates",
    type: "counter",
    unit: "{delivery}",
    help: "Deliveries that were in flight already when they were received again.",
    samples: ofIntake(({ duplicates }) => single(duplicates)),
  },
  {
    name: "workspace_tasks.intake.rejections",
    type: "counter",
    unit: "{request}",
    help: "Requests that an intake did not acknowledge, by error code.",
    samples: ofIntake(({ rejections }) => byLabel("code", rejections)),
  },
  {
    name: "workspace_tasks.intake.in_flight",
    type: "gauge",
    unit: "{delivery}",
    help: "Deliveries without a publisher confirm now.",
    samples: ofIntake(({ inFlight }) => single(inFlight.messages)),
  },
  {
    name: "workspace_tasks.intake.in_flight_size",
    type: "gauge",
    unit: "By",
    help: "Bytes of the deliveries without a publisher confirm now.",
    samples: ofIntake(({ inFlight }) => single(inFlight.bytes)),
  },
  {
    name: "workspace_tasks.intake.confirm_duration",
    type: "gauge",
    unit: "s",
    help: "From publish to confirm, of the last 1,024 deliveries; absent before the first.",
    samples: ofIntake(({ confirmMs }) =>
      Object.entries(confirmMs ?? {}).flatMap(([percentile, ms]) => seconds(ms, { percentile })),
    ),
  },
  {
    name: "workspace_tasks.intake.outage",
    type: "gauge",
    unit: "s",
    help: "How long no delivery could be published; absent while they can.",
    samples: ofIntake(({ failingForMs }) => seconds(failingForMs)),
  },
  {
    name: "workspace_tasks.rabbitmq.connections_lost",
    type: "counter",
    unit: "{connection}",
    help: "Connections to RabbitMQ that were lost and replaced.",
    samples: ofConnection(({ lost }, labels) => [{ labels, value: lost }]),
  },
  {
    name: "workspace_tasks.rabbitmq.unavailable",
    type: "gauge",
    unit: "s",
    help: "How long there has been no connection to RabbitMQ; absent while there is one.",
    samples: ofConnection(({ unavailableForMs }, side) => seconds(unavailableForMs, side)),
  },
  {
    name: "workspace_tasks.rabbitmq.blocked",
    type: "gauge",
    unit: "s",
    help: "How long RabbitMQ has read nothing, because it is short of memory or disk; absent while it reads.",
    samples: ofConnection(({ blockedForMs }, side) => seconds(blockedForMs, side)),
  },
  {
    name: "workspace_tasks.consumer.messages",
    type: "counter",
    unit: "{message}",
    help: "Messages of a consumer, by what happened to them.",
    samples: ofConsumer(({ messages }) => byLabel("outcome", { ...messages })),
  },
  {
    name: "workspace_tasks.consumer.queue_depth",
    type: "gauge",
    unit: "{message}",
    help: "Messages in a queue that no consumer has; absent while the broker cannot be asked.",
    samples: ofConsumer(({ queues }) =>
      queues.flatMap(({ queue, depth }) => (depth === null ? [] : [{ labels: { queue }, value: depth }])),
    ),
  },
  {
    name: "workspace_tasks.consumer.waiting",
    type: "gauge",
    unit: "{message}",
    help: "Messages in this process that are not stored yet.",
    samples: ofConsumer(({ queues }) =>
      queues.map(({ queue, waiting }) => ({ labels: { queue }, value: waiting })),
    ),
  },
  {
    name: "workspace_tasks.consumer.outage",
    type: "gauge",
    unit: "s",
    help: "How long the inbox of a queue has stored no message; absent while it stores them.",
    samples: ofConsumer(({ queues }) =>
      queues.flatMap(({ queue, failingForMs }) => seconds(failingForMs, { queue })),
    ),
  },
  {
    name: "workspace_tasks.consumer.active",
    type: "gauge",
    unit: "{queue}",
    help: "1 for a queue that this process consumes or stands by for, 0 for one that it has left.",
    samples: ofConsumer(({ queues }) =>
      queues.map(({ queue, isConsuming }) => ({ labels: { queue }, value: isConsuming ? 1 : 0 })),
    ),
  },
  {
    name: "workspace_tasks.consumer.parked",
    type: "gauge",
    unit: "{message}",
    help: "Messages in the parking queue; absent while the broker cannot be asked.",
    samples: ofConsumer(({ parked }) => single(parked)),
  },
];
