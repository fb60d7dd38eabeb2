// What empties a backlog: this kit, or a job queue that one would use instead. Each in its own process.

/** Loads events into a backlog, and calls a handler once for each. */
export interface Drainer {
  /** Adds the bodies of events to the backlog. */
  add(bodies: readonly Buffer[]): Promise<unknown>;
  /** Starts the handlers; `onHandled` is called when the handler of an event has run. */
  start(onHandled: () => void): Promise<void>;
  /** Resolves when what was handled is recorded. */
  stop(): Promise<void>;
}

/** Who drains. Without options: this kit, or the queue, as its documents show it first. */
export interface Contender {
  readonly drainer: "kit-postgres" | "kit-sqlite" | "graphile-worker" | "pg-boss" | "plainjob";
  /** Each event is added when the one before was handled. */
  readonly isLive?: boolean;
  /** Adds something to the table that handlers write. */
  readonly alters?: string;
  /** This kit: the pool has a listener that sends something, as those of telemetry and of `SET search_path` do. */
  readonly listens?: boolean;
  /** This kit: the option `prepare`. */
  readonly prepare?: boolean;
  /** This kit: the handler has a statement before its write. */
  readonly readsFirst?: boolean;
  /** This kit: the handler of one event of so many fails once, after its write. */
  readonly failsEvery?: number;
  /** This kit: the handler gets up to 100 events. */
  readonly inBatches?: boolean;
  /** graphile-worker: a process fetches jobs for all its handlers. */
  readonly localQueue?: boolean;
  /** pg-boss: a batch of jobs has a transaction. */
  readonly transactional?: boolean;
  /** plainjob: whether a commit waits for the disk. */
  readonly synchronous?: "FULL" | "NORMAL";
}

export interface DrainOptions extends Contender {
  readonly events: number;
  /** The handler writes a row. */
  readonly writes: boolean;
}

/** @param store a database file, or the URL of a PostgreSQL database */
export type CreateDrainer = (store: string, options: DrainOptions) => Promise<Drainer>;

export type DrainRequest = "fill" | "start" | "progress" | "stop";

/** Of the process so far. */
export interface DrainProgress {
  readonly handled: number;
  readonly cpuUs: number;
  /** Passed to write calls of the operating system. */
  readonly bytesWritten: number;
}

/** Handlers that run at a time, and connections of a pool beside them. */
export const concurrency = 16;
