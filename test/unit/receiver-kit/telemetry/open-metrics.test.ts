import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ReceiverStats } from "workspace-tasks/receiver-kit";
import type {
  BrokerConnectionStats,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "workspace-tasks/receiver-kit/rabbitmq";
import { renderOpenMetrics } from "workspace-tasks/receiver-kit/telemetry";
import { rowStates } from "../../../../receiver-kit/inbox/inbox.ts";
import { brokerMetrics } from "../../../../receiver-kit/telemetry/broker-metrics.ts";
import { receiverMetrics } from "../../../../receiver-kit/telemetry/metrics.ts";
import { familyName } from "../../../../receiver-kit/telemetry/open-metrics.ts";
import { parseOpenMetrics } from "../../../support/open-metrics.ts";
import { createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretX, signDelivery } from "../../../support/signed-delivery.ts";

const receiverStats = (source: string): ReceiverStats => ({
  source,
  ingest: { accepted: 1, duplicates: 0, quarantined: 0, conflicts: 0 },
  rejections: {},
  attempts: { done: 1, stale: 0, retried: 0, dead: 0, released: 0, lost: 0 },
  running: 0,
  lateQueries: 3,
  clock: { jumps: 0, lastJumpMs: null },
  outage: { storingForMs: null, claimingForMs: 1_500 },
  inbox: {
    rows: Object.fromEntries(rowStates.map((state) => [state, 0])) as ReceiverStats["inbox"]["rows"],
    oldestPendingMs: null,
    storedAheadMs: 0,
  },
});

const connection: BrokerConnectionStats = {
  ...{ state: "ready", node: "mq1:5672", lost: 2, unavailableForMs: null, blockedForMs: 2_500 },
};
const intakeStats: RabbitmqIntakeStats = {
  ...{ source: "portal", connection, failingForMs: 4_000, duplicates: 1, fallback: 3 },
  published: { confirmed: 9, returned: 0, nacked: 0, timedOut: 1, interrupted: 0, unsent: 0 },
  rejections: { BROKER_UNAVAILABLE: 4 },
  inFlight: { messages: 5, bytes: 3_000 },
  confirmMs: { p50: 2, p99: 20, max: 35 },
};
const consumerStats: RabbitmqConsumerStats = {
  ...{ source: "portal", connection: { ...connection, unavailableForMs: 7_000, blockedForMs: null } },
  messages: { delivered: 8, redelivered: 1, stored: 6, failed: 2, parked: 1, released: 0 },
  queues: [
    { queue: "q0", isConsuming: true, waiting: 3, failingForMs: null, depth: 40 },
    { queue: "q1", isConsuming: false, waiting: 0, failingForMs: 1_000, depth: null },
  ],
  parked: 1,
};

describe("renderOpenMetrics", () => {
  it("renders what happened to a receiver's deliveries as text that a strict parser reads", async () => {
    const fixture = createReceiverFixture({ source: "portal", retry: { attemptsMax: 1 } });
    await using _ = fixture;
    const { receiver, clock } = fixture;
    receiver.on("task.running", () => {
      throw new Error("broken");
    });
    const event = sampleEvent();
    await fixture.deliver(event, "msg_1");
    await fixture.deliver(event, "msg_1");
    await fixture.deliver({ ...event, note: "changed" }, "msg_1");
    await fixture.deliverBytes("msg_2", Buffer.from("not json"));
    const body = JSON.stringify(event);
    const { headers } = signDelivery({
      body,
      secret: secretX,
      timestampSeconds: Math.floor(clock.now() / 1000),
    });
    await receiver.fetch(new Request("https://receiver.example/", { method: "POST", headers, body }));
    await receiver.fetch(new Request("https://receiver.example/"));
    await clock.advance(1_500);

    const waiting = parseOpenMetrics(renderOpenMetrics(await receiver.stats()));
    expect(waiting.get("workspace_tasks_inbox_oldest_pending_seconds")).toEqual({
      type: "gauge",
      unit: "seconds",
      samples: [
        { name: "workspace_tasks_inbox_oldest_pending_seconds", labels: { source: "portal" }, value: 1.5 },
      ],
    });

    await receiver.start();
    await clock.advance(1_000);
    const families = parseOpenMetrics(renderOpenMetrics(await receiver.stats()));
    const valuesOf = (name: string, label: string) =>
      Object.fromEntries(
        families.get(name)?.samples.map(({ labels, value }) => [labels[label] ?? "", value]) ?? [],
      );
    expect(valuesOf("workspace_tasks_receiver_deliveries", "outcome")).toEqual({
      accepted: 1,
      duplicate: 2,
      quarantined: 1,
    });
    expect(valuesOf("workspace_tasks_receiver_conflicts", "source")).toEqual({ portal: 1 });
    expect(valuesOf("workspace_tasks_receiver_rejections", "code")).toEqual({
      SIGNATURE_MISMATCH: 1,
      METHOD_NOT_ALLOWED: 1,
    });
    expect(valuesOf("workspace_tasks_receiver_attempts", "outcome")).toMatchObject({ dead: 1, done: 0 });
    expect(valuesOf("workspace_tasks_receiver_running", "source")).toEqual({ portal: 0 });
    const rows = valuesOf("workspace_tasks_inbox_rows", "state");
    expect(Object.keys(rows).sort()).toEqual([...rowStates].sort());
    expect(rows).toMatchObject({ dead: 1, quarantined: 1, pending: 0 });
    expect(families.get("workspace_tasks_inbox_oldest_pending_seconds")?.samples).toEqual([]);
  });

  it("renders several receivers in one text, and escapes their labels", () => {
    const stats = receiverStats;
    const text = renderOpenMetrics([stats("a"), stats('b"\\\n')]);
    const accepted = parseOpenMetrics(text)
      .get("workspace_tasks_receiver_deliveries")
      ?.samples.filter(({ labels }) => labels["outcome"] === "accepted");
    expect(accepted?.map(({ labels }) => labels["source"])).toEqual(["a", 'b"\\\n']);
    expect(() => renderOpenMetrics([stats("a"), stats("a")])).toThrow(/got one source twice/);
    const promise = Promise.resolve(stats("a")) as unknown as ReceiverStats;
    expect(() => renderOpenMetrics(promise)).toThrow(/expected what stats\(\) of a receiver/);
  });

  it("renders an intake and a consumer beside the receivers of two shards", () => {
    const shards = ["0", "1"].map((shard) => ({ stats: receiverStats("portal"), labels: { shard } }));
    const families = parseOpenMetrics(renderOpenMetrics([...shards, intakeStats, consumerStats]));
    const samplesOf = (name: string) =>
      (families.get(`workspace_tasks_${name}`)?.samples ?? []).map(
        ({ labels: { source, ...labels }, value }) => [labels, value] as const,
      );
    expect(samplesOf("receiver_running")).toEqual([
      [{ shard: "0" }, 0],
      [{ shard: "1" }, 0],
    ]);
    expect(samplesOf("intake_published")).toContainEqual([{ outcome: "timedOut" }, 1]);
    expect(samplesOf("intake_in_flight")).toEqual([[{}, 5]]);
    expect(samplesOf("intake_in_flight_size_bytes")).toEqual([[{}, 3_000]]);
    expect(samplesOf("intake_confirm_duration_seconds")).toContainEqual([{ percentile: "p99" }, 0.02]);
    expect(samplesOf("intake_outage_seconds")).toEqual([[{}, 4]]);
    expect(samplesOf("rabbitmq_connections_lost")).toEqual([
      [{ side: "intake" }, 2],
      [{ side: "consumer" }, 2],
    ]);
    expect(samplesOf("rabbitmq_unavailable_seconds")).toEqual([[{ side: "consumer" }, 7]]);
    expect(samplesOf("rabbitmq_blocked_seconds")).toEqual([[{ side: "intake" }, 2.5]]);
    expect(samplesOf("consumer_messages")).toContainEqual([{ outcome: "stored" }, 6]);
    expect(samplesOf("consumer_queue_depth")).toEqual([[{ queue: "q0" }, 40]]);
    expect(samplesOf("consumer_waiting")).toContainEqual([{ queue: "q0" }, 3]);
    expect(samplesOf("consumer_active")).toEqual([
      [{ queue: "q0" }, 1],
      [{ queue: "q1" }, 0],
    ]);
    expect(samplesOf("consumer_outage_seconds")).toEqual([[{ queue: "q1" }, 1]]);
    expect(samplesOf("consumer_parked")).toEqual([[{}, 1]]);
  });

  it("rejects labels that the format or the metrics do not permit, and two shards with the same labels", () => {
    const shard = (labels: Record<string, string>) => ({ stats: receiverStats("portal"), labels });
    expect(() => renderOpenMetrics([shard({ "no-name": "1" })])).toThrow("got no-name");
    expect(() => renderOpenMetrics([shard({ queue: "1" })])).toThrow("got queue");
    expect(() => renderOpenMetrics([shard({ shard: "1" }), shard({ shard: "1" })])).toThrow(
      "got one source twice with the same labels",
    );
  });
});

describe("metrics", () => {
  const documented = [
    ...receiverMetrics.map((metric) => [metric.name, metric, "docs/production.md"] as const),
    ...brokerMetrics.map((metric) => [metric.name, metric, "docs/rabbitmq.md"] as const),
  ];

  it.each(documented)("include %s, as documented", (name, metric, file) => {
    const document = readFileSync(file, "utf8");
    const suffix = metric.type === "counter" ? "_total" : "";
    const row = document.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
    expect(row).toContain(`| \`${familyName(metric)}${suffix}\` | ${metric.type} |`);
    expect(name).toMatch(/^workspace_tasks\.[a-z_]+\.[a-z_]+$/);
  });
});

describe("the OpenMetrics parser of the tests", () => {
  it.each([
    ["no end", "# TYPE a gauge\na 1\n"],
    ["a counter without _total", "# TYPE a counter\na 1\n# EOF\n"],
    ["a sample of another family", "# TYPE a gauge\nb 1\n# EOF\n"],
    ["a repeated sample", '# TYPE a gauge\na{x="1"} 1\na{x="1"} 2\n# EOF\n'],
    ["a unit that is not in the name", "# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n"],
    ["an unescaped quote", '# TYPE a gauge\na{x="""} 1\n# EOF\n'],
    ["a value that is not a number", "# TYPE a gauge\na null\n# EOF\n"],
    ["an interrupted family", "# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n"],
  ])("rejects %s", (_, text) => {
    expect(() => parseOpenMetrics(text)).toThrow();
  });
});
