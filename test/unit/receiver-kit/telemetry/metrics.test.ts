import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ReceiverStats } from "workspace-tasks/receiver-kit";
import type {
  BrokerConnectionStats,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "workspace-tasks/receiver-kit/rabbitmq";
import { emptyStates } from "../../../../receiver-kit/inbox/sql/inbox-row.ts";
import type { ObservedStats } from "../../../../receiver-kit/stats/receiver-telemetry.ts";
import { brokerMetrics, metrics, receiverMetrics } from "../../../../receiver-kit/telemetry/metrics.ts";

const receiver: ReceiverStats = {
  source: "portal",
  ingest: { accepted: 1, duplicates: 2, quarantined: 0, conflicts: 4 },
  rejections: { SIGNATURE_MISMATCH: 5 },
  attempts: { done: 6, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 },
  ...{ running: 7, lateQueries: 3, clock: { jumps: 8, lastJumpMs: null } },
  outage: { storingForMs: null, claimingForMs: 1_500 },
  inbox: { rows: { ...emptyStates(), dead: 9 }, oldestPendingMs: 2_500, storedAheadMs: 0 },
};
const connection: BrokerConnectionStats = {
  ...{ state: "ready", node: "mq1:5672", lost: 2, unavailableForMs: null, blockedForMs: 2_500 },
};
const intake: RabbitmqIntakeStats = {
  ...{ source: "portal", connection, failingForMs: 4_000, duplicates: 1 },
  published: { confirmed: 9, returned: 0, nacked: 0, timedOut: 1, interrupted: 0, unsent: 0 },
  rejections: { BROKER_UNAVAILABLE: 4 },
  inFlight: { messages: 5, bytes: 3_000 },
};
const consumer: RabbitmqConsumerStats = {
  ...{ source: "portal", connection: { ...connection, unavailableForMs: 7_000, blockedForMs: null } },
  messages: { delivered: 8, redelivered: 1, stored: 6, failed: 2, parked: 1, released: 0 },
  queues: [
    { queue: "q0", isConsuming: true, waiting: 3, failingForMs: null },
    { queue: "q1", isConsuming: false, waiting: 0, failingForMs: 1_000 },
  ],
};

/** The values of a metric that are not 0, with their labels. */
const valuesOf = (name: string, stats: ObservedStats) => {
  const samples = metrics.find((metric) => metric.name === `workspace_tasks.${name}`)?.samples(stats) ?? [];
  return samples.filter(({ value }) => value !== 0).map(({ labels, value }) => [labels, value]);
};

describe("a metric", () => {
  it.each<[string, ObservedStats, readonly unknown[]]>([
    [
      "receiver.deliveries",
      receiver,
      [
        [{ outcome: "accepted" }, 1],
        [{ outcome: "duplicate" }, 2],
      ],
    ],
    ["receiver.conflicts", receiver, [[{}, 4]]],
    ["receiver.rejections", receiver, [[{ code: "SIGNATURE_MISMATCH" }, 5]]],
    ["receiver.attempts", receiver, [[{ outcome: "done" }, 6]]],
    ["receiver.late_queries", receiver, [[{}, 3]]],
    ["receiver.running", receiver, [[{}, 7]]],
    ["receiver.outage", receiver, [[{ operation: "claim" }, 1.5]]],
    ["inbox.clock_jumps", receiver, [[{}, 8]]],
    ["inbox.rows", receiver, [[{ state: "dead" }, 9]]],
    ["inbox.oldest_pending", receiver, [[{}, 2.5]]],
    [
      "intake.published",
      intake,
      [
        [{ outcome: "confirmed" }, 9],
        [{ outcome: "timedOut" }, 1],
      ],
    ],
    ["intake.duplicates", intake, [[{}, 1]]],
    ["intake.rejections", intake, [[{ code: "BROKER_UNAVAILABLE" }, 4]]],
    ["intake.in_flight", intake, [[{}, 5]]],
    ["intake.in_flight_size", intake, [[{}, 3_000]]],
    ["intake.outage", intake, [[{}, 4]]],
    ["rabbitmq.connections_lost", intake, [[{ side: "intake" }, 2]]],
    ["rabbitmq.blocked", intake, [[{ side: "intake" }, 2.5]]],
    ["rabbitmq.unavailable", consumer, [[{ side: "consumer" }, 7]]],
    [
      "consumer.messages",
      consumer,
      [
        [{ outcome: "delivered" }, 8],
        [{ outcome: "redelivered" }, 1],
        [{ outcome: "stored" }, 6],
        [{ outcome: "failed" }, 2],
        [{ outcome: "parked" }, 1],
      ],
    ],
    ["consumer.waiting", consumer, [[{ queue: "q0" }, 3]]],
    ["consumer.active", consumer, [[{ queue: "q0" }, 1]]],
    ["consumer.outage", consumer, [[{ queue: "q1" }, 1]]],
  ])("%s has the numbers of stats(), and none of another kind of stats", (name, stats, expected) => {
    expect(valuesOf(name, stats)).toEqual(expected);
    const isOfBroker = name.startsWith("rabbitmq.");
    for (const other of [receiver, intake, consumer]) {
      if (other !== stats && !isOfBroker) expect(valuesOf(name, other)).toEqual([]);
    }
  });

  it.each([
    ...receiverMetrics.map((metric) => [metric.name, metric.type, "docs/production.md"] as const),
    ...brokerMetrics.map((metric) => [metric.name, metric.type, "docs/rabbitmq.md"] as const),
  ])("%s is a %s in %s", (name, type, file) => {
    const row = readFileSync(file, "utf8")
      .split("\n")
      .find((line) => line.startsWith(`| \`${name}\` | ${type}`));
    expect(row).toBeDefined();
  });
});
