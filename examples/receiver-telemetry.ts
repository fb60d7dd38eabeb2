// Reports a receiver to OpenTelemetry, and serves its metrics to Prometheus.

// #region open-telemetry
import { createServer } from "node:http";
import * as api from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";

// Here for Prometheus; other readers and exporters of OpenTelemetry fit, too.
const exporter = new PrometheusExporter({ preventServerStart: true });
const metricsServer = createServer((request, response) => {
  exporter.getMetricsRequestHandler(request, response);
});
api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

const secrets: string[] = [];
const receiver = createReceiver({
  secrets: () => secrets,
  inbox: memoryInbox(), // for this example; in production use sqliteInbox or postgresInbox
  telemetry: openTelemetry(api), // after the providers are registered, as with every instrumentation
});
// #endregion

const { createMockServer } = await import("@workspace-tasks/mock-server");
const { createClient } = await import("@workspace-tasks/sdk");

const url = "https://receiver.example/webhooks";
const received = new Map([[url, (request: Request) => receiver.fetch(request)]]);
await using mock = await createMockServer({ listen: false, receivers: received });
await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey, fetch: mock.fetch });
const { signingSecret } = await client.webhooks.endpoints.create({ url });
secrets.push(signingSecret);
const completed = new Promise((resolve) => receiver.on("task.completed", resolve));
await receiver.start();
await mock.control.startTask({ taskType: "TAX_PREP", progression: "immediate", stages: [] });
await completed;

await new Promise<void>((resolve) => void metricsServer.listen(0, "127.0.0.1", resolve));
const address = metricsServer.address();
const port = typeof address === "object" ? address?.port : undefined;
const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
console.log(scraped.match(/^workspace_tasks_receiver_deliveries_total.*accepted.*$/m)?.[0]);
metricsServer.close();
await exporter.shutdown();
await receiver.close();
