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
// process ends within it. Only `purge`, `writeMarks` and `repairTimes` may stop half-way; their next call continues.
//
// DURABLE. What a resolved promise reports survives the end of the process, and of the machine as far as the storage
// promises that. Claims and renewals need not be durable: a lost one is a lease that ended.
//
// ERRORS. A promise that is rejected, or that is not settled within the receiver's limit (`acceptTimeoutMs` to store a
// delivery, else a third of `leaseMs`, 10 s at least), means that nothing is known: it may have happened, and may still
// happen. The receiver then responds 503, polls later, or leaves the row to the end of its lease. Any error will do; one with the code `INBOX_UNAVAILABLE` is logged as an outage. Conditions that
// are expected have return values. So every method may be called again, and a repetition of a call that had succeeded
// must do no harm: rows are unique by id, ends are fenced by the lease, heads only advance.
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
// clock may be set forward or back by hours. A lease that seems to have ended ends only at `reclaimUntilMs`, which the
// worker derives from its monotonic clock; what was stored in the future is found by `repairTimes`.
//
// TEXT. Sources, ids, keys and positions compare by bytes and contain no NUL. Ids have up to 255 characters, keys up to 500.

import { objectWith } from "@workspace-tasks/kernel/schema.ts";
import type { InboxAcceptStore, InboxInlineStore } from "./accept-store.ts";
import type { InboxMaintenanceStore } from "./maintenance-store.ts";
import type { InboxOperatorStore } from "./operator-store.ts";
import type { InboxWorkQueue } from "./work-queue.ts";

export type * from "./accept-store.ts";
export type * from "./maintenance-store.ts";
export type * from "./operator-store.ts";
export * from "./row.ts";
export type * from "./work-queue.ts";

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
