import * as s from "@workspace-tasks/kernel/schema.ts";
import type { ImportClient } from "./import-input.ts";
import type { ImportProgress } from "./import-progress.ts";
import type { ImportJournal } from "./journal/import-journal.ts";

export interface ImportOptions {
  /** A connection that is `active`. */
  readonly connectionId: string;
  /** Name of the first job; the others are called `jobName (2)` and so on. */
  readonly jobName: string;
  /** Read once, as far as there is room for them. A call that continues an import gets the same clients, in any order. */
  readonly clients: Iterable<ImportClient> | AsyncIterable<ImportClient>;
  /** `fileJournal`, `postgresJournal`, or your own; one for each pair of connection and job name. */
  readonly journal: ImportJournal;
  /** How many clients there are, for the estimate. Default: the `length` or `size` of `clients`, if it has one. */
  readonly clientsTotal?: number | undefined;
  /** Most works of a job, 1 to 1,000. Default 100. */
  readonly worksPerJob?: number | undefined;
  /** Calls and uploads in flight, 1 to 64. Default 8. */
  readonly concurrency?: number | undefined;
  /**
   * Called with the latest progress. A promise that it returns is awaited before the next call; a failure ends the import
   * with `ON_PROGRESS_FAILED`.
   */
  readonly onProgress?: ((progress: ImportProgress) => unknown) | undefined;
  /** Ends this process's part of the import. */
  readonly signal?: AbortSignal | undefined;
}

const iterable = s.refine<ImportOptions["clients"]>(
  "an iterable of clients",
  (value) =>
    typeof value === "object" &&
    value !== null &&
    (Symbol.iterator in value || Symbol.asyncIterator in value),
);

/** The checks of `ImportOptions`, with its defaults. */
export const importOptions = s.strictOptions<ImportOptions>()({
  connectionId: s.nonEmptyString,
  jobName: s.nonBlankString,
  clients: iterable,
  journal: s.objectWith<ImportJournal>("a journal with open, append and close", "open", "append", "close"),
  clientsTotal: s.optional(s.integerBetween(0, Number.MAX_SAFE_INTEGER)),
  worksPerJob: s.withDefault(s.integerBetween(1, 1_000), 100),
  concurrency: s.withDefault(s.integerBetween(1, 64), 8),
  onProgress: s.optional(s.functionOf<(progress: ImportProgress) => unknown>()),
  signal: s.optional(s.abortSignal),
});

export type CheckedOptions = ReturnType<typeof importOptions>;
