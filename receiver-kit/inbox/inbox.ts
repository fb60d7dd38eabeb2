// What the receiver asks of its storage. Memory, SQLite and PostgreSQL keep the same promises, proved by one suite.
//
// A row is one delivery, known by (source, webhook-id), and is in one of these states:
//
//   pending      stored and acknowledged; may be claimed from its due time on
//   running      claimed by a worker until its lease ends
//   inline       applied by a request itself, through the composable middlewares; workers never claim it
//   done         handled; its event was not older than what had been applied for its key, or it has no key
//   stale        handled, but something newer of its key had been applied before: state handlers did not see it
//   dead         given up after the last attempt, or at once when a handler said that retrying cannot help
//   quarantined  its signature is right but it cannot be read as an event
//   discarded    a dead or quarantined row that somebody has put aside
//
//   (new) ─► pending ─► running ─► done | stale | dead          running ─► pending   (retry, release, lease ran out)
//   (new) ─► quarantined            dead | quarantined | done | stale | discarded ─► pending   (replay)
//
// LEASE AND FENCING. A claim counts the attempt, raises the row's generation and writes the worker's name. Whatever
// the claim's holder does later names both and changes nothing if either is no longer the row's: a worker that
// stopped for longer than its lease finds itself fenced off, even when a crash of the database lost the last claim.
//
// KEY ORDER. At most one row of a key is running at any time, over all processes; of the due rows of a key the one
// with the lowest position goes first. Rows of other keys are never held up.
//
// TIME is the inbox's own: the server's clock on PostgreSQL, the given clock elsewhere. Callers pass durations.

import type { EventColumns } from "../event/event-columns.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";

export type RowState =
  | "pending"
  | "running"
  | "inline"
  | "done"
  | "stale"
  | "dead"
  | "quarantined"
  | "discarded";

export const rowStates: readonly RowState[] = [
  "pending",
  "running",
  "inline",
  "done",
  "stale",
  "dead",
  "quarantined",
  "discarded",
];

/** How an event came in: delivered and verified, or read from the tasks API. */
export type Channel = "webhook" | "reconcile";

export type NewRow = EventColumns & {
  readonly source: string;
  readonly id: string;
  readonly channel: Channel;
  /** When the delivery was signed, in Unix seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
  /** Why it cannot be used; `null` for a ok event. */
  readonly quarantine: string | null;
};

export type InsertResult =
  | { readonly outcome: "new" }
  /** `sameBody` is `null` when the first body has been purged. */
  | { readonly outcome: "duplicate"; readonly sameBody: boolean | null };

export type ClaimOptions = {
  /** Only rows of this source: another receiver, with other handlers, may share the inbox. */
  readonly source: string;
  /** Name of the claiming worker, unique among all processes. */
  readonly worker: string;
  readonly rowsMax: number;
  readonly leaseMs: number;
  /** A row whose lease ran out after this many attempts is dead instead of claimable. */
  readonly attemptsMax: number;
  /** `strict`: a row waits for every earlier row of its key, also for one that waits to be retried. */
  readonly keyOrder: KeyOrder;
};

export type KeyOrder = "latest" | "strict";

export type Claim = EventColumns & {
  readonly seq: number;
  readonly source: string;
  readonly id: string;
  readonly channel: Channel;
  readonly timestamp: number;
  readonly receivedAtMs: number;
  readonly body: Uint8Array;
  readonly worker: string;
  readonly generation: number;
  /** Attempts so far, this one included. */
  readonly attempts: number;
  /** How many times somebody replayed the row. */
  readonly replays: number;
  /** Position of the key's head at the time of the claim. */
  readonly head: string | null;
};

export type ClaimResult = {
  readonly claims: readonly Claim[];
  /** Rows that this call found dead: their lease ran out at the last attempt. */
  readonly died: readonly RowReference[];
  /** Until the next row falls due or the next lease ends; `null` when nothing waits. */
  readonly nextInMs: number | null;
};

export type RowReference = { readonly source: string; readonly id: string };

/** How a handled row moves its ordering head. */
export type HeadAdvance = {
  readonly key: string;
  readonly position: string;
  readonly status: string | null;
  /** A replayed row may be applied again while it is still the newest. */
  readonly allowSame: boolean;
};

/** `null`: the row has no key, or is known to be stale; the head stays. */
export type Settlement = { readonly state: "done" | "stale"; readonly move: HeadAdvance | null };

export type SettleOutcome =
  /** Settled as asked. */
  | "settled"
  /** A newer event was applied meanwhile and no transaction had begun: settled as `stale`. */
  | "settled-stale"
  /** A newer event was applied before the transaction began: nothing was written, the row is still claimed. */
  | "superseded"
  /** The lease was lost: nothing was written. */
  | "lost";

/**
 * The transaction of one claimed row. It begins in the database when the handler first uses it; until then it costs
 * nothing. Once begun, the handler's writes, the end of the row and the move of the head commit together or not at all.
 */
export interface HandlerTransaction<Transaction> {
  /** What handlers see as `context.transaction`. */
  readonly handle: Transaction;
  commit(): Promise<SettleOutcome>;
  /** Ends the transaction without a trace; later use of the handle throws. */
  rollback(): Promise<void>;
}

export type FailedAttempt =
  | { readonly kind: "retry"; readonly delayMs: number; readonly error: string }
  | { readonly kind: "dead"; readonly error: string }
  /** Due again at once, and the attempt is not counted: the worker stops, or lost nothing but time. */
  | { readonly kind: "release" };

export type RowSummary = EventColumns & {
  readonly seq: number;
  readonly source: string;
  readonly id: string;
  readonly channel: Channel;
  readonly state: RowState;
  readonly timestamp: number;
  readonly receivedAtMs: number;
  readonly dueAtMs: number;
  readonly attempts: number;
  readonly replays: number;
  readonly lastError: string | null;
  readonly bodyBytes: number | null;
};

export type RowDetails = RowSummary & { readonly body: Uint8Array | null };

export type RowFilter = {
  readonly states?: readonly RowState[];
  readonly source?: string;
  /** Only rows stored before this one; for paging, newest first. */
  readonly beforeSeq?: number;
  /** Default 50. */
  readonly limit?: number;
};

export type InboxStats = {
  readonly rows: Readonly<Record<RowState, number>>;
  /** Age of the longest waiting due row; `null` when none waits. */
  readonly oldestPendingMs: number | null;
};

/** A key whose state may be behind the service's. */
export type ReconcileCandidate = {
  readonly key: string;
  readonly reason: "running-too-long" | "dead" | "quarantined";
};

export type Retention = {
  /** Bodies of settled rows go after this. */
  readonly bodiesMs: number;
  /** Settled rows, and with them their ids, go after this. */
  readonly rowsMs: number;
  /** Ordering heads untouched for this long go. */
  readonly headsMs: number;
};

export type InlineBegin =
  /** Nobody has applied this id: the caller applies it now and then calls `finishInline`. */
  | { readonly state: "begun"; readonly generation: number }
  /** This id was applied before, or is in quarantine. */
  | { readonly state: "done" }
  /** Another caller is applying this id right now and its lease still runs. */
  | { readonly state: "busy"; readonly retryAfterMs: number };

/**
 * What the composable middlewares `dedupeWebhook` and `orderWebhook` ask of an inbox. Every inbox has it.
 *
 * A row begun inline belongs to the request that began it: no worker claims it, also after its lease ran out.
 * All three throw `InboxUnavailableError` when the inbox cannot answer.
 */
export interface InlineInbox {
  /** Stores the delivery, or takes over one whose earlier attempt failed or lost its lease. Durable on return. */
  beginInline(
    webhook: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ): Promise<InlineBegin>;
  /**
   * Ends what `beginInline` began: `done` for good, `failed` so that the sender's next attempt begins anew.
   * False when another caller has taken over since (the generation no longer matches); nothing is changed then.
   */
  finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean>;
  /**
   * Moves the ordering head of `key` to `position` unless it is already further, in one atomic step.
   *
   * `same` means that this very event moved it before, as when its first attempt failed afterwards: it may be
   * applied. Only `stale` must not be.
   */
  advanceHead(options: {
    readonly source: string;
    readonly key: string;
    /** As `HeadAdvance.position`. */
    readonly position: string;
  }): Promise<"newer" | "same" | "stale">;
}

export interface Inbox<Transaction = unknown> extends InlineInbox {
  /** False for memory: an acknowledged delivery does not survive the process. */
  readonly durable: boolean;
  /** Connects and migrates. Safe to call again after a failure, and from several processes at once. */
  open(): Promise<void>;
  close(): Promise<void>;

  /**
   * Stores a delivery and resolves once it is durable. A duplicate resolves once the first is durable; if the
   * first fails, so does the duplicate.
   */
  insert(newRow: NewRow): Promise<InsertResult>;
  claim(options: ClaimOptions): Promise<ClaimResult>;
  /** Extends leases; answers the `seq` of the claims still held. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<number>>;
  /** `timeoutMs` bounds how long a handler may keep the transaction open. */
  begin(
    claim: Claim,
    settlement: Settlement,
    options: { readonly timeoutMs: number },
  ): HandlerTransaction<Transaction>;
  /** False when the lease was lost. */
  fail(claim: Claim, failure: FailedAttempt): Promise<boolean>;
  /** Calls `wake` when rows may have become claimable, also by other processes. Absent where polling must do. */
  subscribe?(wake: () => void): Promise<() => Promise<void>>;

  list(filter: RowFilter): Promise<readonly RowSummary[]>;
  get(row: RowReference): Promise<RowDetails | undefined>;
  /** Makes a settled, dead or quarantined row pending again, with the columns read anew. False when it is not in such a state or has no body. */
  replay(row: RowReference, columns: EventColumns): Promise<boolean>;
  /** Puts a dead or quarantined row aside. False when it is neither. */
  discard(row: RowReference): Promise<boolean>;

  /** Position and status of a key's head. */
  head(
    source: string,
    key: string,
  ): Promise<{ readonly position: string; readonly status: string | null } | undefined>;
  reconcileCandidates(options: {
    readonly source: string;
    readonly runningForMs: number;
    readonly limit: number;
  }): Promise<readonly ReconcileCandidate[]>;
  /** Notes that the receiver is alive; answers how long ago that was noted last, `null` when never. */
  heartbeat(source: string): Promise<number | null>;
  /** Removes at most `rowsMax` of each kind, oldest first; answers how many it touched, so that it can be called until 0. */
  purge(retention: Retention, rowsMax: number): Promise<number>;
  /** How many rows of a source wait or run, counted up to `limit`: cheap enough to ask often. */
  backlog(source: string, limit: number): Promise<number>;
  stats(): Promise<InboxStats>;
}
