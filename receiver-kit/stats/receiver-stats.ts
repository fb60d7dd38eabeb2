import type { ReceiverErrorCode } from "../errors.ts";
import type { InboxStats } from "../inbox/inbox.ts";

export interface IngestCounts {
  accepted: number;
  duplicates: number;
  quarantined: number;
  /** Duplicates with another body than the first. */
  conflicts: number;
}

export type AttemptOutcome =
  | "done"
  | "stale"
  | "retried"
  | "dead"
  /**
   * Due again, not counted: the receiver closes, a newer event was applied during the attempt, or the inbox had no connection
   * for the transaction.
   */
  | "released"
  /** Another worker may have the row; this attempt left no trace in the inbox. */
  | "lost";

export type WorkerCounts = Record<AttemptOutcome, number>;

export type RejectionCounts = Partial<Record<ReceiverErrorCode, number>>;

export interface ReceiverStats {
  /** The receiver's source. */
  readonly source: string;
  /** Deliveries since this receiver was created. */
  readonly ingest: Readonly<IngestCounts>;
  /** Requests without a 2xx response since this receiver was created, by code. */
  readonly rejections: Readonly<RejectionCounts>;
  /** Attempts of this receiver's worker, by how they ended. */
  readonly attempts: Readonly<WorkerCounts>;
  /**
   * Delivered events that no handler is registered for, by name; from the 101st name on under `other`. They are done,
   * without effect.
   */
  readonly ignored: Readonly<Record<string, number>>;
  /** Queries that were rejected because their handler had returned, thrown or been cancelled. */
  readonly lateQueries: number;
  /** Events being handled by this receiver right now. */
  readonly running: number;
  /**
   * Tasks that this receiver's reconciling fetched, changes that it found and rounds of the option `reconcile` that failed. The
   * time since a round of any process of the inbox succeeded, or since the start; `null` without the option.
   */
  readonly reconcile: {
    readonly examined: number;
    readonly enqueued: number;
    readonly corrected: number;
    readonly failed: number;
    readonly succeededAgoMs: number | null;
  };
  /** How long this receiver could not store deliveries, or claim events; `null` while it can. */
  readonly outage: { readonly storingForMs: number | null; readonly claimingForMs: number | null };
  /** The numbers of the whole inbox, other sources included. */
  readonly inbox: InboxStats;
}
