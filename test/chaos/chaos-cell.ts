// A cell of the chaos matrix is data: how its world starts, what breaks in it while deliveries arrive, and how that is
// repaired. The runner sends, waits and counts, and knows nothing of databases or brokers.

import type { Random } from "../simulation/random.ts";

/** Receivers and everything behind them, as real processes. Disposing ends them. */
export interface ChaosWorld extends AsyncDisposable {
  /** Ports of the processes that accept deliveries; they change when a process is replaced. */
  readonly ports: readonly number[];
  /** One row per effect of a handler, and when it was written, by the clock of this machine. */
  effects(): Promise<readonly { readonly id: string; readonly atMs: number }[]>;
  /** The status of each task that the handlers wrote. */
  states(): Promise<ReadonlyMap<string, string>>;
}

export interface ChaosCell {
  readonly name: string;
  readonly needs: "postgres" | "rabbitmq";
  /** How long it stays broken. */
  readonly brokenMs: number;
  /** True when no delivery may be rejected meanwhile. */
  readonly rejectsNothing?: boolean;
  start(): Promise<ChaosWorld & { inject(random: Random): Promise<void>; repair(): Promise<void> }>;
}

/** Starts what several runs share, such as servers. Disposing ends it. */
export interface ChaosCells extends AsyncDisposable {
  readonly cells: readonly ChaosCell[];
}
