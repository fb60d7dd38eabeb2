// What the receiver needs of its storage. Memory, SQLite and PostgreSQL keep the same promises, tested by one suite
// (test/support/inbox-suite.ts).
//
// A row is one delivery, identified by (source, webhook-id), and is in one of these states:
//
//   pending      stored and acknowledged; may be claimed from its due time on
//   running      claimed by a worker until its lease ends
//   inline       applied by a request itself, through the composable middlewares; workers never claim it
//   done         handled; its event was not older than what had been applied for its key, or it has no key
//   stale        handled, but something newer of its key had been applied before: state handlers did not see it
//   dead         failed at the last attempt, or at once when a handler said that a retry cannot help
//   quarantined  its signature is valid but it cannot be parsed as an event
//   discarded    a dead or quarantined row that an operator has dismissed
//
//   (new) ─► pending ─► running ─► done | stale | dead          running ─► pending   (retry, release, lease expired)
//   (new) ─► quarantined            dead | quarantined | done | stale | discarded ─► pending   (replay)
//   (new) ─► inline ─► done         inline ─► inline   (taken over after a failure or the end of the lease)
//
// LEASE AND FENCING. A claim takes the lease of a key, with one or more of its rows: it raises the key's generation and
// writes the worker's name. Whatever the claim's holder does later names both and changes nothing if either differs from
// the key's: a worker that was paused for longer than its lease is fenced off, even when a crash of the database lost
// the last claim. The lease ends with the last of the claimed rows.
//
// ATTEMPTS. A claim writes nothing to its rows. A lease that expired is the trace of a crash: the first of the key's due
// rows is then counted as attempted, and dead after its last attempt, and the rows of that claim are claimed one at a
// time: a row that ends its process is found, and the rows behind it are not counted.
//
// KEY ORDER. One worker at a time has rows of a key, over all processes; of the due rows of a key the one with the
// lowest position goes first. Rows of different keys do not wait for each other. A row without a key is a key of its own.
//
// TIME is the inbox's own: the server's clock on PostgreSQL, the given clock elsewhere. Callers pass durations. That
// clock may be set forward or back by hours. A lease that seems to have ended ends only at `reclaimUntilMs`, which the
// worker derives from its monotonic clock; what was stored in the future is found by `repairTimes`.

import type { EventColumns } from "../event/event-columns.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import type {
  InboxHead,
  InboxHeadFilter,
  InboxHeadReference,
  InboxHeadSummary,
  ReconcileCandidate,
} from "./order-head.ts";
import type {
  InboxInsertResult,
  InboxRowDetails,
  InboxRowReference,
  InboxRowState,
  InboxRowSummary,
  NewInboxRow,
} from "./row.ts";
import type { InboxWorkQueue } from "./work-queue.ts";

export * from "./row.ts";
export type * from "./work-queue.ts";

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

/** Small facts that outlive the process, by name. */
export type InboxMarks = Readonly<Record<string, string>>;

export interface InboxRetention {
  /** How long the bodies of settled rows are kept. */
  readonly bodiesMs: number;
  /** How long settled rows, and with them their ids, are kept. */
  readonly rowsMs: number;
  /** How long unchanged ordering heads are kept. */
  readonly headsMs: number;
  /** How long the bodies of dead and quarantined rows are kept. */
  readonly unhandledBodiesMs: number;
  /** Counts ages up to this time where the inbox's clock is ahead of it. Default: the inbox's clock. */
  readonly asOfMs?: number | undefined;
}

export type InboxBeginInlineResult =
  /** The id was not applied yet: the caller applies it now and then calls `finishInline`. */
  | { readonly state: "begun"; readonly generation: number }
  /** The id was applied before, or is in quarantine. */
  | { readonly state: "done" }
  /** Another caller is applying the id and its lease has not ended. */
  | { readonly state: "busy"; readonly retryAfterMs: number };

export interface InboxConnection {
  /** False for memory: an acknowledged delivery does not survive the process. */
  readonly durable: boolean;
  /** Connects and migrates. Safe to call again after a failure, and from several processes at once. */
  open(): Promise<void>;
  close(): Promise<void>;
}

export interface InboxAcceptStore {
  /**
   * Resolves once the delivery is durable. A duplicate resolves once the first is durable; if the first fails, so does
   * the duplicate.
   */
  insert(row: NewInboxRow): Promise<InboxInsertResult>;
  /** How many rows of a source wait or run, counted up to `limit`: cheap enough to call often. */
  backlog(source: string, limit: number): Promise<number>;
}

/** For deliveries that a request handles itself: `dedupeWebhook` and `orderWebhook`. */
export interface InboxInlineStore {
  /** Stores the delivery, or takes over one whose earlier attempt failed or lost its lease. Durable when it resolves. */
  beginInline(
    webhook: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ): Promise<InboxBeginInlineResult>;
  /**
   * Ends what `beginInline` began; after `failed` the sender's next attempt begins again. False when another caller has
   * taken over (the generation differs); nothing is changed then.
   */
  finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean>;
  /**
   * Advances the head of `key` to `position` unless it is already there or further, in one atomic step.
   *
   * `same`: this event advanced it before, as when its first attempt failed afterwards; it may be applied. Only `stale`
   * must not be.
   */
  advanceHead(options: {
    readonly source: string;
    readonly key: string;
    readonly position: string;
  }): Promise<"newer" | "same" | "stale">;
}

/** For operators and the command line. */
export interface InboxOperatorStore {
  list(filter: InboxRowFilter): Promise<readonly InboxRowSummary[]>;
  get(row: InboxRowReference): Promise<InboxRowDetails | undefined>;
  /** Makes a settled, dead or quarantined row pending again, with new columns. False in other states, or without a body. */
  replay(row: InboxRowReference, columns: EventColumns): Promise<boolean>;
  /** Dismisses a dead or quarantined row. False when it is neither. */
  discard(row: InboxRowReference): Promise<boolean>;
  stats(): Promise<InboxStats>;
  listHeads(filter: InboxHeadFilter): Promise<readonly InboxHeadSummary[]>;
  /** Deletes a head: the next event of its key is applied, however old it is. False when there is none. */
  resetHead(head: InboxHeadReference): Promise<boolean>;
}

/** For reconciling and retention. */
export interface InboxMaintenanceStore {
  head(source: string, key: string): Promise<InboxHead | undefined>;
  /** In the order of their keys, each key once, so that pages reach every candidate. */
  reconcileCandidates(options: {
    readonly source: string;
    readonly runningForMs: number;
    /** Only keys after this one. */
    readonly afterKey: string;
    readonly limit: number;
  }): Promise<readonly ReconcileCandidate[]>;
  /** The marks of a source, and the inbox's time. */
  readMarks(source: string): Promise<{ readonly nowMs: number; readonly marks: InboxMarks }>;
  /** Writes these marks and keeps the others. */
  writeMarks(source: string, marks: InboxMarks): Promise<void>;
  /** Removes at most `rowsMax` of each kind, oldest first; returns how many it changed, to be called until 0. */
  purge(retention: InboxRetention, rowsMax: number): Promise<number>;
}

export interface Inbox<Transaction = unknown>
  extends InboxConnection,
    InboxAcceptStore,
    InboxInlineStore,
    InboxWorkQueue<Transaction>,
    InboxOperatorStore,
    InboxMaintenanceStore {}
