// A cell of the chaos matrix is data: how its world starts, what breaks in it while deliveries arrive, and how that is
// repaired. The runner sends, waits and counts, and knows nothing of databases or brokers.

import type { Random } from "../../integration/simulation/random.ts";

/** What a handler wrote in the transaction of its event. */
export interface Effect {
  readonly id: string;
  readonly task: string;
  readonly occurredAt: string;
  readonly isStale: boolean;
  /** When its handler began and ended, of `machineMicros`. */
  readonly beganMicros: number;
  readonly atMicros: number;
}

/** Receivers and everything behind them, as real processes. Disposing ends them. */
export interface ChaosWorld extends AsyncDisposable {
  /** Ports of the processes that accept deliveries; they change when a process is replaced. */
  readonly ports: readonly number[];
  effects(): Promise<readonly Effect[]>;
  /** The status of each task that the handlers wrote. */
  states(): Promise<ReadonlyMap<string, string>>;
}

/** A world in which one thing breaks. Several runs may follow each other in it. */
export interface FaultyWorld extends ChaosWorld {
  inject(random: Random): Promise<void>;
  repair(): Promise<void>;
}

export interface Load {
  readonly tasks: number;
  /** How long deliveries arrive before the fault, and after its repair. */
  readonly beforeMs: number;
  readonly afterMs: number;
  /** The longest pause of each sender between two deliveries. */
  readonly gapMs: number;
  /** How long the rest may take until it is handled, and five times as long until it is acknowledged. */
  readonly drainTimeoutMs: number;
}

export interface ChaosCell {
  readonly name: string;
  /** How long it stays broken. */
  readonly brokenMs: number;
  /** True when no delivery may be rejected meanwhile. */
  readonly rejectsNothing?: boolean | undefined;
  /** True when the next run needs another world. */
  readonly usesUpWorld?: boolean | undefined;
  readonly load?: Load | undefined;
  start(): Promise<FaultyWorld>;
}

/** Cells that share servers. */
export interface ChaosGroup {
  readonly cells: readonly string[];
  /** Why they cannot run on this machine. */
  readonly missing: string | undefined;
  start(): Promise<ChaosCells>;
}

/** Disposing ends what the cells share. */
export interface ChaosCells extends AsyncDisposable {
  readonly cells: readonly ChaosCell[];
}
