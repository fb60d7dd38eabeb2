// Reads a metric that a receiver reported.
import assert from "node:assert/strict";
import * as api from "@opentelemetry/api";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
import { deliver } from "./deliver.mjs";

class ReaderOnDemand extends MetricReader {
  async onShutdown() {}
  async onForceFlush() {}
}
const reader = new ReaderOnDemand();
api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));

const secrets = [];
const receiver = createReceiver({
  secrets: () => secrets,
  inbox: memoryInbox(),
  telemetry: openTelemetry(api),
});
await deliver(secrets, receiver);
const { resourceMetrics, errors } = await reader.collect();
assert.deepEqual(errors, []);
const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
const deliveries = metrics.find(({ descriptor }) => descriptor.name.endsWith("receiver.deliveries"));
const accepted = deliveries?.dataPoints.find(({ attributes }) => attributes.outcome === "accepted");
assert.equal(accepted?.value, 2, metrics.map(({ descriptor }) => descriptor.name).join(", "));
await receiver.close();
await reader.shutdown();
