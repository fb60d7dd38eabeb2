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
  /** Within its delay, rows whose leases expired together are due again. No row waits longer than its longest delay. */
  readonly retry: InboxRetryDelays;
  /** A row whose lease expired after this many attempts becomes dead instead of claimable. */
  readonly attemptsMax: number;
  readonly keyOrder: InboxKeyOrder;
}

/** The lease of a key: one object, shared by the rows that were claimed with it. The worker only passes it back. */
export interface InboxLease {
  /** For the inbox itself. */
  readonly keyId: number;
  readonly worker: string;
  readonly generation: number;
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
  readonly died: readonly InboxDeath[];
  /** Until the next row is due or the next lease ends; `null` when no row waits. */
  readonly nextInMs: number | null;
}

export interface InboxDeath extends InboxRowReference {
  /** `lastError` of the row: that its lease expired, and what its attempts before that had ended with. */
  readonly error: string;
}

/** How a handled row advances the head of its key. */
export interface InboxHeadAdvance {
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

/** A claimed row, and how it ends. */
export interface InboxSettling {
  readonly claim: InboxClaim;
  readonly settlement: InboxSettlement;
}

/** What became of the rows; unless it is `settled`, nothing is kept of any of them. */
export type InboxSettleOutcome =
  /** Each row was settled as requested. */
  | "settled"
  /** A newer event was applied meanwhile and no transaction had begun: settled as `stale`. Of a single row only. */
  | "settled-stale"
  /** A newer event was applied before the transaction began: nothing was written, the rows are still claimed. */
  | "superseded"
  /**
   * Nothing was written: a lease was lost, or the transaction could not be kept for a reason that is not of these rows. The
   * worker releases them, which changes nothing where another worker has the lease.
   */
  | "lost";

/** Why a transaction failed, where that is no fault of its event. */
export type InboxFault =
  /** The database ended it for the sake of another one: a deadlock, a serialization failure. */
  | "conflict"
  /** There was no connection to begin it, or the server was going away. */
  | "connection"
  /**
   * The connection was lost during a statement of the handler, or the server had no disk or memory left. Nothing says whether
   * that statement was the cause.
   */
  | "lost";

/**
 * The transaction of one claimed row, or of a batch of them. It begins in the database when the handler first uses it; until
 * then it costs nothing. Once begun, the handler's writes, the ends of the rows and the advances of their heads commit
 * together or not at all.
 */
export interface HandlerTransaction<Transaction> {
  /**
   * What handlers see as `context.transaction`. Its methods throw `LEASE_LOST`, `SUPERSEDED` or `TRANSACTION_ENDED`
   * (`ReceiverError`) where nothing may be written any more; `commit` then resolves with `lost` or `superseded`.
   */
  readonly handle: Transaction;
  /** Read when it has failed. Default: the event's own. */
  readonly fault?: InboxFault | undefined;
  /** Called once. It leaves nothing open when it resolves. When it is rejected, `rollback` follows, and the row is failed or left to the end of its lease. */
  commit(): Promise<InboxSettleOutcome>;
  /** Discards every write; later use of the handle throws. */
  rollback(): Promise<void>;
}

export type FailedAttempt =
  /** `counts`: it is one of the attempts of the event; otherwise the inbox itself had failed. */
  | { readonly kind: "retry"; readonly delayMs: number; readonly error: string; readonly counts: boolean }
  | { readonly kind: "dead"; readonly error: string }
  /** Due again at once, and the attempt is not counted: the worker stops, or a newer event was applied. */
  | { readonly kind: "release" };

export interface InboxWaitingSource {
  readonly source: string;
  /** Until a row of it is due or a lease of it ends; 0 or less when it may be claimed now. */
  readonly dueInMs: number;
}

/**
 * No row waits for longer, and no lease lasts longer. A due time or the end of a lease that is further ahead was stored before
 * the inbox's clock was set back, and counts as reached. A second more: statements at the same time read different times.
 */
export const longestDelayMs = ({ retry, leaseMs }: Pick<InboxClaimOptions, "retry" | "leaseMs">): number =>
  Math.ceil(Math.max(retry.delayMsMax, leaseMs)) + 1_000;

/** For workers. */
export interface InboxWorkQueue<Transaction> {
  /** The source and those of its tenants that have pending or running rows, in the order of their names. */
  waitingSources(source: string): Promise<readonly InboxWaitingSource[]>;
  /**
   * Takes the leases of keys that have due rows and no lease, or one that has expired, each with its first due rows.
   * The rows of a key are handled in this order: of a lease that expired, the first one that had not ended has an attempt
   * more, or is dead after its last one. Several of these are due again one after the other, within the delay of the retry
   * plan: one of them may have ended the process. What is due further ahead than `longestDelayMs` counts as due. Concurrent
   * calls never get the same key. May return fewer rows than are due; none only when none is due, or when `nextInMs` is 0.
   * Rows stored by an `insert` that has resolved are found.
   */
  claim(options: InboxClaimOptions): Promise<InboxClaimResult>;
  /** Extends leases from now; returns those that are still held, as the same objects. */
  renew(leases: readonly InboxLease[], leaseMs: number): Promise<ReadonlySet<InboxLease>>;
  /**
   * Prepares the transaction that settles claimed rows, of which a key may have several, in their order. It neither waits nor
   * fails. A handler may keep it open for `timeoutMs`. The writes of the handler, the ends of the rows and the advances of their heads are one step, durable when
   * `commit` resolves with `settled`.
   */
  begin(
    items: readonly InboxSettling[],
    options: { readonly timeoutMs: number },
  ): HandlerTransaction<Transaction>;
  /** Ends the attempt of a claimed row. Durable when it resolves with true. False when the lease was lost. */
  fail(claim: InboxClaim, failure: FailedAttempt): Promise<boolean>;
  /**
   * Calls `wake` when rows may have become claimable, also by other processes: with their source, or without one when
   * they may be of any source. A call may be late, repeated or missing: it only makes the next poll earlier. Absent where
   * polling must do. Resolves with a function that ends it.
   */
  subscribe?(wake: (source?: string) => void): Promise<() => Promise<void>>;
}
