import { ReceiverError } from "../errors.ts";
import type { ReceiverStats } from "../receiver-stats.ts";
import { type Metric, metrics, type Sample } from "./metrics.ts";

/** The `Content-Type` of the text. */
export const openMetricsContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * What `receiver.stats()` returned, as OpenMetrics text for Prometheus and others; of several receivers as a list. Each
 * sample has the label `source`.
 *
 * @example examples/receiver-telemetry.ts#open-metrics
 * ```ts
 * import { createServer } from "node:http";
 * import { openMetricsContentType, renderOpenMetrics } from "workspace-tasks/receiver-kit/telemetry";
 *
 * const metricsServer = createServer(async (_request, response) => {
 *   const text = renderOpenMetrics(await receiver.stats());
 *   response.setHeader("content-type", openMetricsContentType).end(text);
 * });
 * ```
 *
 * @throws {ReceiverError} `ARGUMENT_INVALID`
 */
export function renderOpenMetrics(stats: ReceiverStats | readonly ReceiverStats[]): string {
  const all: readonly ReceiverStats[] = Array.isArray(stats) ? stats : [stats as ReceiverStats];
  if (!all.every(isStats)) {
    throw new ReceiverError(
      "ARGUMENT_INVALID",
      "renderOpenMetrics: expected what receiver.stats() resolves to, or a list of it",
    );
  }
  if (new Set(all.map(({ source }) => source)).size < all.length) {
    throw new ReceiverError(
      "ARGUMENT_INVALID",
      "renderOpenMetrics: expected receivers with different sources, got one source twice",
    );
  }
  return `${metrics.flatMap((metric) => family(metric, all)).join("\n")}\n# EOF\n`;
}

function isStats(given: unknown): boolean {
  const { source, ingest, inbox } = (given ?? {}) as Partial<ReceiverStats>;
  return typeof source === "string" && typeof ingest === "object" && typeof inbox === "object";
}

function family(metric: Metric, all: readonly ReceiverStats[]): readonly string[] {
  const name = familyName(metric);
  const suffix = metric.type === "counter" ? "_total" : "";
  const samples = all.flatMap((stats) =>
    metric
      .samples(stats)
      .map(({ labels, value }) => ({ labels: { source: stats.source, ...labels }, value })),
  );
  return [
    `# TYPE ${name} ${metric.type}`,
    ...(metric.unit === "s" ? [`# UNIT ${name} seconds`] : []),
    `# HELP ${name} ${escaped(metric.help)}`,
    ...samples.map((sample) => `${name}${suffix}${renderLabels(sample)} ${sample.value}`),
  ];
}

/** OpenMetrics requires the unit at the end of the name. */
export function familyName({ name, unit }: Pick<Metric, "name" | "unit">): string {
  return name.replaceAll(".", "_") + (unit === "s" ? "_seconds" : "");
}

function renderLabels({ labels }: Sample): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
