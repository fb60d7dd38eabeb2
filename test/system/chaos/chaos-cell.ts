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
  /** Of the databases that the handlers wrote to. */
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** What the handlers wrote to the tables of `receiverTables`. */
export async function readEffects(world: ChaosWorld): Promise<readonly Effect[]> {
  const rows = await world.query("SELECT webhook_id, task, occurred_at, stale, began, ended FROM effects");
  return rows.map((row) => ({
    id: String(row["webhook_id"]),
    task: String(row["task"]),
    occurredAt: String(row["occurred_at"]),
    isStale: row["stale"] === "true",
    beganMicros: Number(row["began"]),
    atMicros: Number(row["ended"]),
  }));
}

/** The status of each task that the handlers wrote. */
export async function readStates(world: ChaosWorld): Promise<ReadonlyMap<string, string>> {
  const rows = await world.query("SELECT task, status FROM task_states");
  return new Map(rows.map((row) => [String(row["task"]), String(row["status"])]));
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

/** What breaks in a world. */
export interface Fault<World extends ChaosWorld = ChaosWorld> {
  readonly name: string;
  /** How long it stays broken. */
  readonly brokenMs: number;
  /** True when no delivery may be rejected meanwhile. */
  readonly rejectsNothing?: boolean | undefined;
  /** True when the next run needs another world. */
  readonly usesUpWorld?: boolean | undefined;
  readonly load?: Load | undefined;
  /** Breaks something and returns how it is repaired. */
  inject(world: World, random: Random): Promise<() => unknown>;
}

export interface ChaosCell<World extends ChaosWorld = ChaosWorld> extends Fault<World> {
  /** Starts a world, in which several runs may follow each other. */
  start(): Promise<World>;
}

/** Cells that share servers, which disposing ends. */
export interface ChaosGroup extends AsyncDisposable {
  readonly cells: readonly ChaosCell[];
}

/** Servers that the first cell starts that needs them, and all share. */
export function shared<Servers extends AsyncDisposable>(start: () => Promise<Servers>) {
  let starting: Promise<Servers> | undefined;
  return {
    get() {
      starting ??= start();
      return starting;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const started = await starting?.catch(() => undefined);
      await started?.[Symbol.asyncDispose]();
    },
  };
}
