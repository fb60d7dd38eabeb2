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
// LEASE AND FENCING. A claim counts the attempt, raises the row's generation and writes the worker's name. Whatever
// the claim's holder does later names both and changes nothing if either differs from the row's: a worker that was
// paused for longer than its lease is fenced off, even when a crash of the database lost the last claim.
//
// KEY ORDER. At most one row of a key is running at any time, over all processes; of the due rows of a key the one
// with the lowest position goes first. Rows of different keys do not wait for each other.
//
// TIME is the inbox's own: the server's clock on PostgreSQL, the given clock elsewhere. Callers pass durations. That
// clock may be set forward or back by hours. A lease that seems to have ended ends only at `reclaimUntilMs`, which the
// worker derives from its monotonic clock; what was stored in the future is found by `repairTimes`. While a row runs,
// its due time is when the lease was granted or renewed.

import type { EventColumns } from "../event/event-columns.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { HeadFilter, HeadReference, HeadSummary, OrderHead, ReconcileCandidate } from "./order-head.ts";

export const rowStates = [
  "pending",
  "running",
  "inline",
  "done",
  "stale",
  "dead",
  "quarantined",
  "discarded",
] as const;

export type RowState = (typeof rowStates)[number];

/** `lastError` of a row that died because its worker did not come back. */
export const leaseExpired = "the lease expired at the last attempt";

/** Where an event came from: a delivery, or the tasks API. */
export type Channel = "webhook" | "reconcile";

export interface RowReference {
  /** The receiver's source; `source/tenant` for a delivery of a tenant. */
  readonly source: string;
  readonly id: string;
}

/** What is known of a delivery besides its event; `null` for events that reconciling found. */
export interface DeliveryColumns {
  /** Index of the secret that signed it. */
  readonly secretIndex: number | null;
  /** The trace that the delivery belongs to, as a W3C `traceparent`. */
  readonly traceparent: string | null;
}

export interface NewRow extends EventColumns, DeliveryColumns, RowReference {
  readonly channel: Channel;
  /** When the delivery was signed, in Unix seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
  /** Why it is unusable; `null` for an event. */
  readonly quarantine: string | null;
}

export type InsertResult =
  | { readonly outcome: "new" }
  /** `sameBody` is `null` when the first body has been purged. */
  | { readonly outcome: "duplicate"; readonly sameBody: boolean | null };

export interface StoredRow extends EventColumns, DeliveryColumns, RowReference {
  /** Increases with each stored row. */
  readonly seq: number;
  readonly channel: Channel;
  readonly timestamp: number;
  readonly receivedAtMs: number;
  /** Attempts so far, a running one included. */
  readonly attempts: number;
  /** How many times the row was replayed. */
  readonly replays: number;
}

export interface RowSummary extends StoredRow {
  readonly state: RowState;
  readonly dueAtMs: number;
  readonly lastError: string | null;
  readonly bodyBytes: number | null;
}

export interface RowDetails extends RowSummary {
  readonly body: Uint8Array | null;
}

/** `strict`: a row waits for every earlier row of its key, also for one that waits for its retry. */
export type KeyOrder = "latest" | "strict";

export interface ClaimOptions {
  /** Only rows of this source: another receiver, with other handlers, may share the inbox. */
  readonly source: string;
  /** Name of the claiming worker, unique among all processes. */
  readonly worker: string;
  readonly rowsMax: number;
  readonly leaseMs: number;
  /** A row whose lease expired after this many attempts becomes dead instead of claimable. */
  readonly attemptsMax: number;
  readonly keyOrder: KeyOrder;
  /** Leases that ended after this time are not expired yet, whatever the inbox's clock says; `null`: trust the clock. */
  readonly reclaimUntilMs: number | null;
}

export interface Claim extends StoredRow {
  readonly body: Uint8Array;
  readonly worker: string;
  readonly generation: number;
  /** Position of the key's head at the time of the claim. */
  readonly head: string | null;
}

export interface ClaimResult {
  readonly claims: readonly Claim[];
  /** Rows that this call made dead: their lease expired at the last attempt. */
  readonly died: readonly RowReference[];
  /** Until the next row is due or the next lease ends; `null` when no row waits. */
  readonly nextInMs: number | null;
  /** The inbox's time, so that the worker notices when it jumps. */
  readonly nowMs: number;
}

/** How a handled row advances its ordering head. */
export interface HeadAdvance {
  readonly key: string;
  readonly position: string;
  readonly status: string | null;
  /** A replayed row may be applied again while it is still the newest. */
  readonly allowSame: boolean;
}

/** The delays of a retry plan, without jitter. */
export interface RetryDelays {
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
}

export interface Settlement {
  readonly state: "done" | "stale";
  /** `null`: the row has no key, or is already known to be stale. */
  readonly advance: HeadAdvance | null;
}

export type SettleOutcome =
  /** Settled as requested. */
  | "settled"
  /** A newer event was applied meanwhile and no transaction had begun: settled as `stale`. */
  | "settled-stale"
  /** A newer event was applied before the transaction began: nothing was written, the row is still claimed. */
  | "superseded"
  /** The lease was lost: nothing was written. */
  | "lost";

/**
 * The transaction of one claimed row. It begins in the database when the handler first uses it; until then it costs
 * nothing. Once begun, the handler's writes, the end of the row and the advance of the head commit together or not at
 * all.
 */
export interface HandlerTransaction<Transaction> {
  /** What handlers see as `context.transaction`. */
  readonly handle: Transaction;
  commit(): Promise<SettleOutcome>;
  /** Discards every write; later use of the handle throws. */
  rollback(): Promise<void>;
}

export type FailedAttempt =
  | { readonly kind: "retry"; readonly delayMs: number; readonly error: string }
  | { readonly kind: "dead"; readonly error: string }
  /** Due again at once, and the attempt is not counted: the worker stops, or a newer event was applied. */
  | { readonly kind: "release" };

export interface RowFilter {
  readonly states?: readonly RowState[] | undefined;
  readonly source?: string | undefined;
  /** Only rows stored before this one; for pages, newest first. */
  readonly beforeSeq?: number | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
}

export interface InboxStats {
  readonly rows: Readonly<Record<RowState, number>>;
  /** Age of the longest waiting due row; `null` when none waits. */
  readonly oldestPendingMs: number | null;
  /** How far the newest row was stored ahead of the inbox's clock: above 0 after the clock was set back. */
  readonly storedAheadMs: number;
}

/** Small facts that outlive the process, by name. */
export type Marks = Readonly<Record<string, string>>;

export interface Retention {
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

export type BeginInlineResult =
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

export interface DeliveryStore {
  /**
   * Resolves once the delivery is durable. A duplicate resolves once the first is durable; if the first fails, so does
   * the duplicate.
   */
  insert(row: NewRow): Promise<InsertResult>;
  /** How many rows of a source wait or run, counted up to `limit`: cheap enough to call often. */
  backlog(source: string, limit: number): Promise<number>;
}

/** For deliveries that a request handles itself: `dedupeWebhook` and `orderWebhook`. */
export interface InlineStore {
  /** Stores the delivery, or takes over one whose earlier attempt failed or lost its lease. Durable when it resolves. */
  beginInline(
    webhook: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ): Promise<BeginInlineResult>;
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

export interface WaitingSource {
  readonly source: string;
  /** Until a row of it is due or a lease of it ends; 0 or less when it may be claimed now. */
  readonly dueInMs: number;
}

/** For workers. */
export interface WorkQueue<Transaction> {
  /** The source and those of its tenants that have pending or running rows, in the order of their names. */
  waitingSources(source: string): Promise<readonly WaitingSource[]>;
  claim(options: ClaimOptions): Promise<ClaimResult>;
  /** Extends leases; returns the `seq` of the claims still held. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<number>>;
  /** `timeoutMs` limits how long a handler may keep the transaction open. */
  begin(
    claim: Claim,
    settlement: Settlement,
    options: { readonly timeoutMs: number },
  ): HandlerTransaction<Transaction>;
  /** False when the lease was lost. */
  fail(claim: Claim, failure: FailedAttempt): Promise<boolean>;
  /**
   * After the clock was set back: makes rows due whose due time lies further ahead than `retry` allows, and starts the
   * leases again that were granted in the future. Returns how many rows it changed.
   */
  repairTimes(options: { readonly source: string; readonly retry: RetryDelays }): Promise<number>;
  /**
   * Calls `wake` when rows may have become claimable, also by other processes: with their source, or without one when
   * they may be of any source. Absent where polling must do.
   */
  subscribe?(wake: (source?: string) => void): Promise<() => Promise<void>>;
}

/** For operators and the command line. */
export interface RowStore {
  list(filter: RowFilter): Promise<readonly RowSummary[]>;
  get(row: RowReference): Promise<RowDetails | undefined>;
  /** Makes a settled, dead or quarantined row pending again, with new columns. False in other states, or without a body. */
  replay(row: RowReference, columns: EventColumns): Promise<boolean>;
  /** Dismisses a dead or quarantined row. False when it is neither. */
  discard(row: RowReference): Promise<boolean>;
  stats(): Promise<InboxStats>;
  listHeads(filter: HeadFilter): Promise<readonly HeadSummary[]>;
  /** Deletes a head: the next event of its key is applied, however old it is. False when there is none. */
  resetHead(head: HeadReference): Promise<boolean>;
}

/** For reconciling and retention. */
export interface MaintenanceStore {
  head(source: string, key: string): Promise<OrderHead | undefined>;
  /** In the order of their keys, each key once, so that pages reach every candidate. */
  reconcileCandidates(options: {
    readonly source: string;
    readonly runningForMs: number;
    /** Only keys after this one. */
    readonly afterKey: string;
    readonly limit: number;
  }): Promise<readonly ReconcileCandidate[]>;
  /** The marks of a source, and the inbox's time. */
  readMarks(source: string): Promise<{ readonly nowMs: number; readonly marks: Marks }>;
  /** Writes these marks and keeps the others. */
  writeMarks(source: string, marks: Marks): Promise<void>;
  /** Removes at most `rowsMax` of each kind, oldest first; returns how many it changed, to be called until 0. */
  purge(retention: Retention, rowsMax: number): Promise<number>;
}

export interface Inbox<Transaction = unknown>
  extends InboxConnection,
    DeliveryStore,
    InlineStore,
    WorkQueue<Transaction>,
    RowStore,
    MaintenanceStore {}
