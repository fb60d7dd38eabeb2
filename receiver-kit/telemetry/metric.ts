import type { ObservedStats } from "../stats/receiver-telemetry.ts";

export interface Sample {
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

/** Of stats of another kind it has no samples. */
export interface Metric extends Definition<ObservedStats> {
  readonly name: string;
}

export type StatsKind = "receiver" | "intake" | "consumer";

export function kindOf(stats: ObservedStats): StatsKind {
  if ("published" in stats) return "intake";
  return "messages" in stats ? "consumer" : "receiver";
}

type Define = <Stats>(
  unit: string,
  help: string,
  samples: (stats: Stats) => readonly Sample[],
) => Definition<Stats>;

export const counter: Define = (unit, help, samples) => ({ type: "counter", unit, help, samples });
export const gauge: Define = (unit, help, samples) => ({ type: "gauge", unit, help, samples });

/** Metrics of these kinds of stats, by their names without `workspace_tasks.`. */
export const metricsOf = <Stats extends ObservedStats>(
  kinds: readonly StatsKind[],
  definitions: Readonly<Record<string, Definition<Stats>>>,
): readonly Metric[] =>
  Object.entries(definitions).map(([name, { samples, ...definition }]) => ({
    ...definition,
    name: `workspace_tasks.${name}`,
    samples: (stats) => (kinds.includes(kindOf(stats)) ? samples(stats as Stats) : []),
  }));

export function byLabel(label: string, values: Readonly<Partial<Record<string, number>>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value: value ?? 0 }));
}

/** A number without labels. */
export const single = (value: number): readonly Sample[] => [{ labels: {}, value }];

/** Milliseconds as seconds; none where it is `null`. */
export const seconds = (ms: number | null, labels: Sample["labels"] = {}): readonly Sample[] =>
  ms === null ? [] : [{ labels, value: ms / 1_000 }];
