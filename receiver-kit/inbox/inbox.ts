// What the receiver needs of its storage. Memory, SQLite and PostgreSQL keep these promises; `test/support/inbox-contract`
// checks each of them. Programs that use the receiver see an `Inbox` without its parts.
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
// ATOMIC. Each method is one step: other callers, in any process, see all of it or nothing, also when it fails or the
// process ends within it. Only `purge` and `writeMarks` may stop half-way; their next call continues.
//
// DURABLE. What a resolved promise reports survives the end of the process, and of the machine as far as the storage
// promises that. Claims and renewals need not be durable: a lost one is a lease that ended.
//
// ERRORS. Every promise is settled within a limit of the inbox, also when a connection dies silently; a request waits for
// `acceptTimeoutMs` at most. One that is rejected means that nothing is known: it may have happened, and may still happen.
// The receiver then responds 503, polls later, or leaves the row to the end of its lease. Any error will do; one with the
// code `INBOX_UNAVAILABLE` is logged as an outage. Conditions that are expected have return values. So every method may be
// called again, and a repetition of a call that had succeeded must do no harm: rows are unique by id, ends are fenced by
// the lease, heads only advance.
//
// CONCURRENCY. Any method may be called while others are in progress, by several receivers, workers and processes.
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
// clock may be set forward or back by hours. Set forward, leases end early, and fencing keeps their holders from writing.
// Set back, what is due further ahead than the longest delay counts as due.
//
// TEXT. Sources, ids, keys and positions compare by bytes and contain no NUL. Ids have up to 255 characters, keys up to 500.

import { objectWith } from "@workspace-tasks/kernel/schema.ts";
import type { EventColumns } from "../event/event-order.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
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
export * from "./work-queue.ts";

export interface InboxConnection {
  /** False for memory: an acknowledged delivery does not survive the process. The receiver then warns once. */
  readonly durable: boolean;
  /** From the first `open` to the last `close`. */
  readonly isOpen: boolean;
  /**
   * Connects, and creates or migrates what is stored. Called before every other method, again after it failed, by several
   * receivers that share the inbox, and by several processes at once: one migrates, the others wait. It has 20 minutes.
   */
  open(): Promise<void>;
  /**
   * Called once per `open`; the inbox closes with the last of them. Calls that are in progress may fail. It may be opened
   * again afterwards.
   */
  close(): Promise<void>;
}

export interface InboxHead {
  readonly position: string;
  readonly status: string | null;
  /** Time since the head last advanced; negative when the clock was set back meanwhile. */
  readonly unchangedMs: number;
}

/** A key whose state may be behind the service's. */
export interface ReconcileCandidate {
  readonly key: string;
  readonly reason: "running-too-long" | "dead" | "quarantined";
  /** `null` where it is not known. */
  readonly workspaceId: string | null;
}

/** For requests. */
export interface InboxAcceptStore {
  /**
   * Stores a delivery as `pending`, or as `quarantined` when `quarantine` is given. The response 200 is sent when it
   * resolves, so the row must be durable then: written, flushed and, with replicas, on as many of them as must not lose it.
   *
   * The row and its place in the order of its key appear in one step. An id that is stored already, in whatever state,
   * changes nothing and resolves as `duplicate`, but not before the first is durable; if storing the first fails, so does
   * the duplicate. Of concurrent copies exactly one is `new`.
   *
   * The body is opaque, up to the receiver's `bodyBytesMax`, and must be copied: the caller may reuse the bytes.
   */
  insert(row: NewInboxRow): Promise<InboxInsertResult>;
  /**
   * How many rows of a source are pending or running, counted up to `limit`: cheap enough to call every second. It may be
   * out of date by the rows that are being stored.
   */
  backlog(source: string, limit: number): Promise<number>;
}

export type InboxBeginInlineResult =
  /** The id was not applied yet: the caller applies it now and then calls `finishInline`. */
  | { readonly state: "begun"; readonly generation: number }
  /** The id was applied before, is in quarantine, or was stored by `insert`. */
  | { readonly state: "done" }
  /** Another caller is applying the id and its lease has not ended. */
  | { readonly state: "busy"; readonly retryAfterMs: number };

/**
 * For deliveries that a request handles itself: `dedupeWebhook` and `orderWebhook`. They have rows of their own kind, as a
 * receiver of the same source would claim ordinary ones, and count them as pending.
 */
export interface InboxInlineStore {
  /**
   * Stores the delivery as `inline`, or takes over one whose earlier attempt failed or lost its lease: of concurrent
   * callers exactly one begins. Durable when it resolves with `begun`. Every take-over raises the generation.
   */
  beginInline(
    webhook: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ): Promise<InboxBeginInlineResult>;
  /**
   * Ends what `beginInline` began; after `failed` the sender's next attempt begins again. `done` is durable when it
   * resolves. False when another caller has taken over (the generation differs); nothing is changed then.
   */
  finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean>;
  /**
   * Advances the head of `key` to `position` unless it is already there or further: comparing and writing are one step, so
   * of concurrent callers with one position exactly one gets `newer`. Durable when it resolves.
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

/** For reconciling and retention. */
export interface InboxMaintenanceStore {
  head(source: string, key: string): Promise<InboxHead | undefined>;
  /**
   * Keys whose head is RUNNING and has not advanced for `runningForMs`, and keys with dead or quarantined rows that their
   * heads do not cover. In the order of the keys, each key once, so that pages reach every candidate.
   */
  reconcileCandidates(options: {
    readonly source: string;
    readonly runningForMs: number;
    /** Only keys after this one. */
    readonly afterKey: string;
    readonly limit: number;
  }): Promise<readonly ReconcileCandidate[]>;
  /** The marks of a source, and the inbox's time. */
  readMarks(source: string): Promise<{ readonly nowMs: number; readonly marks: InboxMarks }>;
  /** Writes these marks and keeps the others. Durable when it resolves. */
  writeMarks(source: string, marks: InboxMarks): Promise<void>;
  /** Writes this mark unless there is one of its name, and resolves with what is there: the same for all processes. */
  keepMark(source: string, name: string, value: string): Promise<string>;
  /**
   * Removes at most `rowsMax` of each kind, oldest first; returns how many it changed, to be called until 0. A replayed row
   * is as old as its last replay. Kept, whatever their age: pending and running rows with their bodies, dead and
   * quarantined rows (without bodies after their limit), and the head of a key with a waiting row.
   */
  purge(retention: InboxRetention, rowsMax: number): Promise<number>;
}

export interface InboxSearch {
  readonly states?: readonly InboxRowState[] | undefined;
  readonly source?: string | undefined;
  /** Names of events; `*` stands for any text, as in `task.*`. */
  readonly events?: readonly string[] | undefined;
  /** Part of the key, case-sensitive as the other texts. */
  readonly keyText?: string | undefined;
  /** Part of the last error, in which line breaks count as spaces. */
  readonly errorText?: string | undefined;
  /** Part of the body. A row without its body is not found. */
  readonly bodyText?: string | undefined;
  /** The last characters of the `webhook-id`. */
  readonly idEnd?: string | undefined;
  /** Only rows of this time or later, in Unix milliseconds: of a dead row when it died, of others when it was received. */
  readonly sinceMs?: number | undefined;
  /** Only rows of an earlier time. */
  readonly untilMs?: number | undefined;
  /** Only rows stored before this one. */
  readonly beforeSeq?: number | undefined;
  /** How many rows a step has at most. Default 1,000. */
  readonly stepRows?: number | undefined;
}

export interface InboxSearchStep {
  readonly rows: readonly InboxRowSummary[];
  /** How many rows were looked at, at most, by the steps so far. */
  readonly looked: number;
  /** A search with this number continues behind the step. */
  readonly beforeSeq: number;
}

export interface InboxRowFilter extends Omit<InboxSearch, "stepRows"> {
  /** Default 50. */
  readonly limit?: number | undefined;
}

/** Counts end here, so that they cost the same beside millions of rows: this many, or more. */
export const countedMax = 1_000;

export interface InboxStats {
  /** `waiting`: pending or running. Each is counted up to 1,000; what has been handled is not counted. */
  readonly rows: Readonly<Record<"waiting" | "dead" | "quarantined", number>>;
  /** Age of the longest waiting due row; `null` when none waits. */
  readonly oldestPendingMs: number | null;
  /** How far the newest row was stored ahead of the inbox's clock: above 0 after the clock was set back. */
  readonly storedAheadMs: number;
}

/** A key that a worker has claimed. */
export interface InboxHeldLease {
  readonly source: string;
  readonly worker: string;
  /** How many rows it has claimed of the key. */
  readonly rows: number;
  /** Negative when it has ended: its process ended or was halted, and no other one has claimed the rows yet. */
  readonly endsInMs: number;
}

/** For operators, the command line and `receiver.stats()`. */
export interface InboxOperatorStore {
  /**
   * Rows, newest first, in steps of which each reads a bounded number of rows: the caller may stop after any of them. Dead,
   * quarantined and waiting rows are found by an index. A row that changes its state meanwhile may be missing or be as it was.
   */
  search(search: InboxSearch): AsyncIterable<InboxSearchStep>;
  /** The first rows that `search` finds. */
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
  /** Costs the same beside millions of rows and heads; a probe of an index for each tenant with waiting rows. */
  stats(): Promise<InboxStats>;
  /**
   * Reads, for each of the first 100 sources with waiting rows, the leases among the 500 keys that are due for the longest
   * time and the 500 that are due next.
   */
  leases(): Promise<readonly InboxHeldLease[]>;
}

declare const transactionOf: unique symbol;

/**
 * Where deliveries are stored until they are handled, and what has been applied: `sqliteInbox(…)`, `postgresInbox(…)`, or
 * `memoryInbox()` in tests. `Transaction` is what handlers see as `context.transaction`. The receiver opens and closes it;
 * a program does so itself to create or migrate what is stored before its receivers start.
 */
export interface Inbox<Transaction = unknown> extends InboxConnection {
  /** Only in types: an inbox does not have it. */
  readonly [transactionOf]?: Transaction;
}

/**
 * Who needs which part: requests `InboxAcceptStore` and `InboxInlineStore`, workers `InboxWorkQueue`, the command line and
 * `receiver.stats()` `InboxOperatorStore`, retention and reconciling `InboxMaintenanceStore`.
 */
export interface InboxStore<Transaction = unknown>
  extends Inbox<Transaction>,
    InboxAcceptStore,
    InboxInlineStore,
    InboxWorkQueue<Transaction>,
    InboxOperatorStore,
    InboxMaintenanceStore {}

export const inboxOption = objectWith<InboxStore>(
  "an inbox such as sqliteInbox(path), postgresInbox(pool) or memoryInbox()",
  "insert",
  "claim",
);

/** Every inbox is a store. */
export const storeOf = <Transaction>(inbox: Inbox<Transaction>): InboxStore<Transaction> =>
  inbox as InboxStore<Transaction>;

/** Opens an inbox at the first call, and again at the next call when that failed. */
export function openOnce(inbox: Pick<InboxConnection, "open">): () => Promise<void> {
  let opened: Promise<void> | undefined;
  return () => {
    opened ??= inbox.open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
