import { readFileSync } from "node:fs";
import * as api from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
import { expect, it, onTestFinished } from "vitest";
import { receiverMetrics } from "../../../../receiver-kit/telemetry/metrics.ts";
import { secretA } from "../../../support/signed-delivery.ts";

/** Names as the exporter for Prometheus writes them. */
const names = new Set([
  ...receiverMetrics.map(
    ({ name, type }) => `${name.replaceAll(".", "_")}${type === "counter" ? "_total" : ""}`,
  ),
  ...["accept", "wait"].map((each) => `workspace_tasks_receiver_${each}_duration_bucket`),
]);

it.each(["alerts.yaml", "dashboard.json"])("%s names metrics that a receiver reports", (file) => {
  const used = readFileSync(`examples/deployment/${file}`, "utf8").match(/workspace_tasks_\w+/g) ?? [];
  expect(new Set(used).size).toBeGreaterThan(5);
  expect(used.filter((name) => !names.has(name))).toEqual([]);
});

it("the dashboard has panels with a title, a unit and queries, side by side", () => {
  const { panels } = JSON.parse(readFileSync("examples/deployment/dashboard.json", "utf8"));
  expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  for (const { title, targets, fieldConfig, gridPos } of panels) {
    expect(title).not.toBe("");
    expect(targets.length).toBeGreaterThan(0);
    expect(fieldConfig.defaults.unit).toMatch(/^\w+$/);
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  }
});

it("the exporter for Prometheus writes these names", async () => {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  api.metrics.setGlobalMeterProvider(provider);
  const receiver = createReceiver({
    secrets: [secretA],
    inbox: memoryInbox(),
    telemetry: openTelemetry(api),
  });
  onTestFinished(async () => {
    await receiver.close();
    await provider.shutdown();
    api.metrics.disable();
  });
  receiver.on("*", () => {});
  await receiver.start();
  await receiver.fetch(new Request("http://receiver.example/webhooks", { method: "POST", body: "{}" }));
  const { resourceMetrics } = await exporter.collect();
  const text = new PrometheusSerializer().serialize(resourceMetrics);
  const written = new Set(text.match(/^workspace_tasks_\w+/gm));
  expect(written).toContain("workspace_tasks_receiver_rejections_total");
  expect(written).toContain("workspace_tasks_inbox_rows");
  expect(written).toContain("workspace_tasks_receiver_accept_duration_bucket");
});
