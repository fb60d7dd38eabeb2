// What empties a backlog: this kit, or a job queue that one would use instead. Each in its own process.

/** Loads an event into a backlog, and later calls a handler once for each. */
export interface Drainer {
  /** Adds events to the backlog; called before `start`. */
  fill(count: number): Promise<void>;
  /** Starts the handlers; `onHandled` is called when the handler of an event has run. */
  start(onHandled: () => void): Promise<void>;
  /** Resolves when what was handled is recorded. */
  stop(): Promise<void>;
}

export interface DrainerOptions {
  /** A database file, or the URL of a PostgreSQL database. */
  readonly store: string;
  /** The handler writes a row. */
  readonly writes: boolean;
}

export type CreateDrainer = (options: DrainerOptions) => Promise<Drainer>;

export type DrainRequest =
  | { readonly fill: number }
  | { readonly start: true }
  | { readonly progress: true }
  | { readonly stop: true };

/** Of the process since `start`. */
export interface DrainProgress {
  readonly handled: number;
  readonly cpuUs: number;
}

/** Handlers that run at a time, and connections of a pool beside them. */
export const concurrency = 16;
export const bodyBytes = 1_024;
export const effectsTable = "CREATE TABLE IF NOT EXISTS effects (id text, at text)";
