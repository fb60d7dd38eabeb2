import type { RabbitmqConsumerStats, RabbitmqIntakeStats } from "../stats/broker-stats.ts";
import type { ReceiverStats } from "../stats/receiver-stats.ts";
import type { ObservedStats } from "../stats/receiver-telemetry.ts";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  /** `counter` only increases while the process lives. */
  readonly type: "counter" | "gauge";
  /** As OpenTelemetry writes it: `s`, `By`, or what is counted in braces. */
  readonly unit: string;
  readonly help: string;
  /** Without the label `source`, which every sample has. None for the numbers of something else. */
  samples(stats: ObservedStats): readonly Sample[];
}

export type StatsKind = "receiver" | "intake" | "consumer";

export function kindOf(stats: ObservedStats): StatsKind {
  if ("published" in stats) return "intake";
  return "messages" in stats ? "consumer" : "receiver";
}

type Samples<Stats> = (stats: Stats) => readonly Sample[];

const of =
  <Stats extends ObservedStats>(kind: StatsKind, samples: Samples<Stats>) =>
  (stats: ObservedStats) =>
    kindOf(stats) === kind ? samples(stats as Stats) : [];

export const ofReceiver = (samples: Samples<ReceiverStats>) => of("receiver", samples);
export const ofIntake = (samples: Samples<RabbitmqIntakeStats>) => of("intake", samples);
export const ofConsumer = (samples: Samples<RabbitmqConsumerStats>) => of("consumer", samples);

export function byLabel(label: string, values: Readonly<Partial<Record<string, number>>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value: value ?? 0 }));
}

/** A number without labels; none where it is `null`. */
export const single = (value: number | null): readonly Sample[] =>
  value === null ? [] : [{ labels: {}, value }];

/** Milliseconds as seconds; none where it is `null`. */
export const seconds = (ms: number | null, labels: Sample["labels"] = {}): readonly Sample[] =>
  ms === null ? [] : [{ labels, value: ms / 1_000 }];
