// What a worker needs of an inbox. The states of rows and leases are described in inbox.ts.

import type { InboxRowReference, StoredInboxRow } from "./row.ts";

/** `strict`: a row waits for every earlier row of its key, also for one that waits for its retry. */
export type InboxKeyOrder = "latest" | "strict";

export interface InboxClaimOptions {
  /** Only rows of this source: another receiver, with other handlers, may share the inbox. */
  readonly source: string;
  /** Name of the claiming worker, unique among all processes. */
  readonly worker: string;
  readonly rowsMax: number;
  /** How many rows of one key, in their order. */
  readonly rowsPerKeyMax: number;
  /** Bytes of all bodies; a single row may be larger. */
  readonly bytesMax: number;
  readonly leaseMs: number;
  /** Within its delay, rows whose leases expired together are due again. */
  readonly retry: InboxRetryDelays;
  /** A row whose lease expired after this many attempts becomes dead instead of claimable. */
  readonly attemptsMax: number;
  readonly keyOrder: InboxKeyOrder;
  /** Leases that ended after this time are not expired yet, whatever the inbox's clock says; `null`: trust the clock. */
  readonly reclaimUntilMs: number | null;
}

/** The lease of a key: one object, shared by the rows that were claimed with it. The worker only passes it back. */
export interface InboxLease {
  /** For the inbox itself. */
  readonly keyId: number;
  readonly worker: string;
  readonly generation: number;
  /** For the inbox itself: the claimed rows that have not ended yet, by `seq`. The end of the last one ends the lease. */
  readonly openRows?: Set<number> | undefined;
}

export interface InboxClaim extends StoredInboxRow {
  readonly body: Uint8Array;
  readonly lease: InboxLease;
  /** Position of the key's head at the time of the claim. */
  readonly head: string | null;
}

export interface InboxClaimResult {
  /** Rows of a key follow each other, in their order. */
  readonly claims: readonly InboxClaim[];
  /** Rows that this call made dead: their lease expired at the last attempt. */
  readonly died: readonly InboxRowReference[];
  /** Until the next row is due or the next lease ends; `null` when no row waits. */
  readonly nextInMs: number | null;
  /** The inbox's time, so that the worker notices when it jumps. */
  readonly nowMs: number;
}

/** How a handled row advances its ordering head. */
export interface InboxHeadAdvance {
  readonly key: string;
  readonly position: string;
  readonly status: string | null;
  /** A replayed row may be applied again while it is still the newest. */
  readonly allowSame: boolean;
}

/** The delays of a retry plan, without jitter. */
export interface InboxRetryDelays {
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
}

export interface InboxSettlement {
  readonly state: "done" | "stale";
  /** `null`: the row has no key, or is already known to be stale. */
  readonly advance: InboxHeadAdvance | null;
}

export type InboxSettleOutcome =
  /** Settled as requested. */
  | "settled"
  /** A newer event was applied meanwhile and no transaction had begun: settled as `stale`. */
  | "settled-stale"
  /** A newer event was applied before the transaction began: nothing was written, the row is still claimed. */
  | "superseded"
  /** The lease was lost: nothing was written. */
  | "lost"
  | InboxRepeat;

/**
 * The transaction was shared and was not committed, because of another event. The handlers are to be run again: alone, or
 * in a turn of their own.
 */
export type InboxRepeat = "repeat" | "repeat_in_turn";

/**
 * The transaction of one claimed row. It begins in the database when the handler first uses it; until then it costs
 * nothing. Once begun, the handler's writes, the end of the row and the advance of the head commit together or not at
 * all; several rows may share one transaction and one commit.
 */
export interface HandlerTransaction<Transaction> {
  /**
   * What handlers see as `context.transaction`. Its methods throw `LEASE_LOST`, `SUPERSEDED` or `TRANSACTION_ENDED`
   * (`ReceiverError`) where nothing may be written any more; `commit` then resolves with `lost` or `superseded`.
   */
  readonly handle: Transaction;
  /** It has a connection for itself, so no other handler may start in its place before it has ended. Default false. */
  readonly isExclusive?: boolean | undefined;
  /** Called once. When it is rejected, `rollback` follows, and the row is failed or left to the end of its lease. */
  commit(): Promise<InboxSettleOutcome>;
  /**
   * Discards every write; later use of the handle throws. Resolves with how the handlers are to be run again where they
   * failed because the transaction was shared.
   */
  rollback(): Promise<InboxRepeat | undefined>;
}

export type FailedAttempt =
  | { readonly kind: "retry"; readonly delayMs: number; readonly error: string }
  | { readonly kind: "dead"; readonly error: string }
  /** Due again at once, and the attempt is not counted: the worker stops, or a newer event was applied. */
  | { readonly kind: "release" };

export interface InboxWaitingSource {
  readonly source: string;
  /** Until a row of it is due or a lease of it ends; 0 or less when it may be claimed now. */
  readonly dueInMs: number;
}

export interface InboxWaiting {
  /** In the order of their names. */
  readonly sources: readonly InboxWaitingSource[];
  /** The inbox's time, so that the worker notices when it jumps. */
  readonly nowMs: number;
}

export interface InboxTransactionOptions {
  /** How long a handler may keep the transaction open. */
  readonly timeoutMs: number;
  /** The transaction is not shared with other rows. Default false. */
  readonly isAlone?: boolean | undefined;
  /** Its statements are not sent between those of other rows. Default false. */
  readonly isInTurn?: boolean | undefined;
}

export type InboxRepairOptions = Pick<InboxClaimOptions, "source" | "keyOrder">;

/** A time of the inbox that is further in the future was stored before its clock was set back. */
export const setBackMsMin = 1_000;

/** For workers. */
export interface InboxWorkQueue<Transaction> {
  /** The source and those of its tenants that have pending or running rows. */
  waitingSources(source: string): Promise<InboxWaiting>;
  /**
   * Takes the leases of keys that have due rows and no lease, or one that has expired, each with its first due rows.
   * The rows of a key are handled in this order: of a lease that expired, the first one that had not ended has an attempt
   * more, or is dead after its last one. Several of these are due again one after the other, within the delay of the retry
   * plan: one of them may have ended the process. Concurrent calls never get the same key. May return fewer rows than are due; none only when none is due, or when
   * `nextInMs` is 0. Rows stored by an `insert` that has resolved are found.
   */
  claim(options: InboxClaimOptions): Promise<InboxClaimResult>;
  /** Extends leases from now; returns those that are still held, as the same objects. */
  renew(leases: readonly InboxLease[], leaseMs: number): Promise<ReadonlySet<InboxLease>>;
  /**
   * Prepares the transaction that settles a claimed row. It neither waits nor fails. The writes of its handlers, the end of
   * the row and the advance of its head are one step, durable when `commit` resolves with `settled`.
   */
  begin(
    claim: InboxClaim,
    settlement: InboxSettlement,
    options: InboxTransactionOptions,
  ): HandlerTransaction<Transaction>;
  /** Ends the attempt of a claimed row. Durable when it resolves with true. False when the lease was lost. */
  fail(claim: InboxClaim, failure: FailedAttempt): Promise<boolean>;
  /**
   * After the clock was set back, or `keyOrder` was changed: wakes the keys that sleep although a row could be claimed, has
   * the others sleep no longer than until one can, and starts the leases again that were granted in the future. A row that
   * failed more than a second in the future can be claimed now, whatever its delay. Returns how many keys it changed.
   */
  repairTimes(options: InboxRepairOptions): Promise<number>;
  /**
   * Calls `wake` when rows may have become claimable, also by other processes: with their source, or without one when
   * they may be of any source. A call may be late, repeated or missing: it only makes the next poll earlier. Absent where
   * polling must do. Resolves with a function that ends it.
   */
  subscribe?(wake: (source?: string) => void): Promise<() => Promise<void>>;
}
