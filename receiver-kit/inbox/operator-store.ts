import type { EventColumns } from "../event/event-columns.ts";
import type { InboxRowDetails, InboxRowReference, InboxRowState, InboxRowSummary } from "./row.ts";

export interface InboxRowFilter {
  readonly states?: readonly InboxRowState[] | undefined;
  readonly source?: string | undefined;
  /** Only rows stored before this one; for pages, newest first. */
  readonly beforeSeq?: number | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
}

export interface InboxStats {
  readonly rows: Readonly<Record<InboxRowState, number>>;
  /** Age of the longest waiting due row; `null` when none waits. */
  readonly oldestPendingMs: number | null;
  /** How far the newest row was stored ahead of the inbox's clock: above 0 after the clock was set back. */
  readonly storedAheadMs: number;
}

/** For operators, the command line and `receiver.stats()`. */
export interface InboxOperatorStore {
  /** Newest first. May read in several steps: a row that changes its state meanwhile may be missing or listed as it was. */
  list(filter: InboxRowFilter): Promise<readonly InboxRowSummary[]>;
  get(row: InboxRowReference): Promise<InboxRowDetails | undefined>;
  /**
   * Makes a settled, dead or quarantined row pending again, due at once, with new columns, no attempts and one more replay.
   * Durable when it resolves with true; of concurrent calls one does so. False in other states, or without a body.
   * A worker that had claimed the row before is fenced off.
   */
  replay(row: InboxRowReference, columns: EventColumns): Promise<boolean>;
  /** Dismisses a dead or quarantined row. False when it is neither. */
  discard(row: InboxRowReference): Promise<boolean>;
  /** May read every row, so it is called every few seconds at most. */
  stats(): Promise<InboxStats>;
}
