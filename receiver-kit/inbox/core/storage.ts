// What memory and SQLite store, and the calls by which the rules of core.ts read and change it. Each call is synchronous;
// a storage that has transactions makes those of one step one transaction.

import type { InboxRowReference, InboxRowState, NewInboxRow, StoredInboxRow } from "../inbox.ts";

/** A delivery, without its body. */
export interface Delivery extends Omit<StoredInboxRow, "attempts"> {
  /** How it ended; `null` while it waits, and when it is done. */
  readonly outcome: Exclude<InboxRowState, "pending" | "running" | "done"> | null;
  /** The attempts of a row that has ended; `null` when its first attempt ended well. */
  readonly attempts: number | null;
  readonly lastError: string | null;
  readonly replayedAtMs: number | null;
  /** When a dead row died; `null` for others. */
  readonly diedAtMs: number | null;
  /** The lease of a row that a request applies; `null` for others. */
  readonly leaseUntilMs: number | null;
  readonly generation: number | null;
}

/** A key of the order, which has a head or waiting rows. */
export interface Key {
  readonly id: number;
  /** The newest position that was applied, which is the head; `null` before the first. */
  readonly position: string | null;
  /** Its rows in the queue, claimed ones included. */
  readonly waiting: number;
  /** When it has something to do: a row is due, or its lease expires. `null` when nothing waits. */
  readonly wakeAtMs: number | null;
  /** Who has its lease, or had it when it expired; `null` without a lease. */
  readonly worker: string | null;
  readonly generation: number;
  /** The rows of the present claim that have not ended, by number, in their order: the first one is being handled. */
  readonly claimed: readonly number[];
  /** Rows of a claim whose lease expired, which are claimed one at a time. */
  readonly suspects: number;
}

/** What a key has besides, which is written only. */
export interface KeyFields extends Key {
  readonly workspaceId: string | null;
  /** Of the event that the head is of. */
  readonly status: string | null;
  /** When the head last advanced. */
  readonly movedAtMs: number | null;
}

/** What advances with the head. */
export type Head = Pick<KeyFields, "position" | "status" | "movedAtMs">;

/** A key that has something to do, with its first rows where it has no lease. */
export interface DueKey extends Pick<Key, "id" | "position" | "worker" | "generation" | "suspects"> {
  readonly rows: readonly WaitingRow[];
}

/** A place in the queue. Rows of a key are handled in the order of their positions and numbers. */
export interface QueuePlace {
  readonly keyId: number;
  readonly position: string;
  readonly seq: number;
}

/** A waiting row, which leaves the queue when it ends. */
export interface QueuedRow extends QueuePlace {
  /** 0 until the first failure: a clock that is set cannot delay the row. */
  readonly dueAtMs: number;
  /** Those that have ended. */
  readonly attempts: number;
  readonly bodyBytes: number;
  readonly lastError: string | null;
}

/** A row of the queue with its delivery, as a claim needs it. */
export interface WaitingRow extends StoredInboxRow, Pick<QueuedRow, "dueAtMs" | "bodyBytes" | "lastError"> {}

/** What is due now: up to `nowMs`, or further ahead than any delay. */
export interface DueTimes {
  readonly nowMs: number;
  readonly aheadMs: number;
}

export interface DueLimits {
  /** How many rows all keys have together; a key without a row counts as one. */
  readonly rowsMax: number;
  readonly rowsPerKeyMax: number;
  /** Rows that are not due, too. */
  readonly isStrict: boolean;
}

export interface Storage {
  /** Stores a delivery and its body; returns its number, larger than those before, or `undefined` when its id is known. */
  addDelivery(row: NewInboxRow, outcome: Delivery["outcome"], nowMs: number): number | undefined;
  findDelivery(row: InboxRowReference): Delivery | undefined;
  readDelivery(seq: number): Delivery | undefined;
  /** The bodies that were not purged, by the numbers of their deliveries. */
  readBodies(seqs: readonly number[]): ReadonlyMap<number, Uint8Array>;
  changeDelivery(seq: number, fields: Partial<Delivery>): void;
  /** `null` when the body was purged. */
  compareBody(row: Pick<NewInboxRow, "source" | "id" | "body">): boolean | null;

  findKey(source: string, name: string): Key | undefined;
  readKey(id: number): Key | undefined;
  /** Returns its number. */
  addKey(source: string, name: string, key: Omit<KeyFields, "id">): number;
  changeKey(id: number, fields: Partial<KeyFields>): void;
  deleteKey(id: number): void;
  /** Keys with something to do, the longest waiting first, each with its first rows: those that are due, or all. */
  dueKeys(source: string, due: DueTimes, limits: DueLimits): readonly DueKey[];
  /** When the first of the other keys has something to do. */
  nextWakeMs(source: string, due: DueTimes): number | null;

  enqueue(row: QueuedRow): void;
  dequeue(place: QueuePlace): void;
  saveQueued(row: Omit<QueuedRow, "bodyBytes">): void;
  findQueued(place: QueuePlace): QueuedRow | undefined;
  nextDueMs(keyId: number): number | null;
}
