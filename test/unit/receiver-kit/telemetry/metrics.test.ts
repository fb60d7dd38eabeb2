import type { ReceiverStats } from "@workspace-tasks/receiver-kit";
import type {
  BrokerConnectionStats,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "@workspace-tasks/receiver-rabbitmq";
import { describe, expect, it } from "vitest";
import type { ObservedStats } from "../../../../receiver-kit/stats/receiver-telemetry.ts";
import { metrics } from "../../../../receiver-kit/telemetry/metrics.ts";

const receiver: ReceiverStats = {
  source: "portal",
  ingest: { accepted: 1, duplicates: 2, quarantined: 0, conflicts: 4 },
  rejections: { SIGNATURE_MISMATCH: 5 },
  attempts: { done: 6, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 },
  running: 7,
  ignored: { "task.failed": 11 },
  lateQueries: 3,
  reconcile: { examined: 12, enqueued: 2, corrected: 1, failed: 4, succeededAgoMs: 3_500 },
  outage: { storingForMs: null, claimingForMs: 1_500 },
  inbox: { rows: { waiting: 0, dead: 9, quarantined: 0 }, oldestPendingMs: 2_500, storedAheadMs: 0 },
};
const connection: BrokerConnectionStats = {
  node: "mq1:5672",
  lost: 2,
  unavailableForMs: null,
  blockedForMs: 2_500,
};
const intake: RabbitmqIntakeStats = {
  source: "portal",
  connection,
  failingForMs: 4_000,
  published: { confirmed: 9, returned: 0, nacked: 0, timedOut: 1, interrupted: 0, unsent: 0 },
  rejections: { BROKER_UNAVAILABLE: 4 },
  inFlight: { messages: 5, bytes: 3_000 },
};
const consumer: RabbitmqConsumerStats = {
  source: "portal",
  connection: { ...connection, unavailableForMs: 7_000, blockedForMs: null },
  messages: { delivered: 8, redelivered: 1, stored: 6, failed: 2, parked: 1, released: 0 },
  queues: [
    { queue: "q0", isConsuming: true, waiting: 3, failingForMs: null },
    { queue: "q1", isConsuming: false, waiting: 0, failingForMs: 1_000 },
  ],
};

/** The samples that are not 0, as `name{label=value} number`. */
const shown = (stats: ObservedStats) =>
  metrics.flatMap(({ name, samples }) =>
    samples(stats)
      .filter(({ value }) => value !== 0)
      .map(({ labels, value }) => {
        const pairs = Object.entries(labels).map(([label, text]) => `${label}=${text}`);
        return `${name.slice("workspace_tasks.".length)}{${pairs.join()}} ${value}`;
      }),
  );

describe("the metrics", () => {
  it("have the numbers of a receiver's stats(), and no others", () => {
    expect(shown(receiver)).toEqual([
      ...["receiver.deliveries{outcome=accepted} 1", "receiver.deliveries{outcome=duplicate} 2"],
      ...["receiver.conflicts{} 4", "receiver.rejections{code=SIGNATURE_MISMATCH} 5"],
      ...[
        "receiver.attempts{outcome=done} 6",
        "receiver.ignored{event=task.failed} 11",
        "receiver.late_queries{} 3",
        "receiver.running{} 7",
      ],
      ...["receiver.reconciled{outcome=examined} 12", "receiver.reconciled{outcome=enqueued} 2"],
      ...["receiver.reconciled{outcome=corrected} 1", "receiver.reconcile_failures{} 4"],
      "receiver.reconcile_age{} 3.5",
      ...["receiver.outage{operation=claim} 1.5", "inbox.rows{state=dead} 9"],
      "inbox.oldest_pending{} 2.5",
    ]);
  });

  it("have the numbers of an intake's stats(), and no others", () => {
    expect(shown(intake)).toEqual([
      ...["intake.published{outcome=confirmed} 9", "intake.published{outcome=timedOut} 1"],
      ...["intake.rejections{code=BROKER_UNAVAILABLE} 4"],
      ...["intake.in_flight{} 5", "intake.in_flight_size{} 3000", "intake.outage{} 4"],
      ...["rabbitmq.connections_lost{side=intake} 2", "rabbitmq.blocked{side=intake} 2.5"],
    ]);
  });

  it("have the numbers of a consumer's stats(), and no others", () => {
    expect(shown(consumer)).toEqual([
      ...["rabbitmq.connections_lost{side=consumer} 2", "rabbitmq.unavailable{side=consumer} 7"],
      ...["consumer.messages{outcome=delivered} 8", "consumer.messages{outcome=redelivered} 1"],
      ...["consumer.messages{outcome=stored} 6", "consumer.messages{outcome=failed} 2"],
      ...["consumer.messages{outcome=parked} 1", "consumer.waiting{queue=q0} 3"],
      ...["consumer.outage{queue=q1} 1", "consumer.active{queue=q0} 1"],
    ]);
  });
});
