import { ReceiverError } from "../errors.ts";
import type { ObservedStats } from "../receiver-telemetry.ts";
import { kindOf, type Metric, type Sample } from "./metric.ts";
import { metrics } from "./metrics.ts";

/** The `Content-Type` of the text. */
export const openMetricsContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Numbers with labels of their own, such as the shard of a receiver. */
export interface LabelledStats {
  readonly stats: ObservedStats;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * What `stats()` of a receiver, an intake or a consumer returned, as OpenMetrics text for Prometheus and others; of several
 * as a list. Each sample has the label `source`; where several receivers have the same source, as those of shards have,
 * `labels` tell them apart.
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
export function renderOpenMetrics(stats: ObservedStats | readonly (ObservedStats | LabelledStats)[]): string {
  const given: readonly unknown[] = Array.isArray(stats) ? stats : [stats];
  const all = given.map(labelled);
  const identities = all.map((one) => JSON.stringify([kindOf(one.stats), allLabels(one)]));
  if (new Set(identities).size < all.length)
    throw invalid("expected different sources or labels, got one source twice with the same labels");
  return `${metrics.flatMap((metric) => family(metric, all)).join("\n")}\n# EOF\n`;
}

const invalid = (message: string) => new ReceiverError("ARGUMENT_INVALID", `renderOpenMetrics: ${message}`);

const allLabels = ({ stats, labels }: LabelledStats) => ({ source: stats.source, ...labels });

const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** @throws {ReceiverError} */
function labelled(given: unknown): LabelledStats {
  if (isStats(given)) return { stats: given, labels: {} };
  const { stats, labels } = (given ?? {}) as Partial<LabelledStats>;
  if (!isStats(stats) || typeof labels !== "object" || labels === null) {
    const expected = "expected what stats() of a receiver, an intake or a consumer returns, once resolved";
    throw invalid(`${expected}, or a list of it or of { stats, labels }`);
  }
  for (const [name, value] of Object.entries(labels))
    if (!labelName.test(name) || reservedLabels.has(name) || typeof value !== "string")
      throw invalid(
        `labels: expected letters, digits and _ with text, and no label of this package, got ${name}`,
      );
  return { stats, labels };
}

/** Those of the metrics themselves. */
const reservedLabels = new Set([
  ...["source", "outcome", "code", "operation", "state", "percentile", "side", "queue"],
]);

function isStats(given: unknown): given is ObservedStats {
  if (typeof given !== "object" || given === null) return false;
  const { source } = given as { readonly source?: unknown };
  return typeof source === "string" && ["inbox", "published", "messages"].some((field) => field in given);
}

function family(metric: Metric, all: readonly LabelledStats[]): readonly string[] {
  const name = familyName(metric);
  const suffix = metric.type === "counter" ? "_total" : "";
  const samples = all.flatMap((one) =>
    metric
      .samples(one.stats)
      .map(({ labels, value }) => ({ labels: { ...allLabels(one), ...labels }, value })),
  );
  return [
    `# TYPE ${name} ${metric.type}`,
    ...(units[metric.unit] ? [`# UNIT ${name} ${units[metric.unit]}`] : []),
    `# HELP ${name} ${escaped(metric.help)}`,
    ...samples.map((sample) => `${name}${suffix}${renderLabels(sample)} ${sample.value}`),
  ];
}

/** OpenMetrics requires the unit at the end of the name. */
export function familyName({ name, unit }: Pick<Metric, "name" | "unit">): string {
  return name.replaceAll(".", "_") + (units[unit] ? `_${units[unit]}` : "");
}

const units: Readonly<Record<string, string>> = { s: "seconds", By: "bytes" };

function renderLabels({ labels }: Sample): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
