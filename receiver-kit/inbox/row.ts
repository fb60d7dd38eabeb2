import type { EventColumns } from "../event/event-order.ts";

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

export type InboxRowState = (typeof rowStates)[number];

export const leaseExpired = "the lease expired at the last attempt";
export const errorBefore = "; the one before: ";

/** `lastError` of a row that died because its worker did not come back; `before`: what its attempts had ended with. */
export const leaseExpiredAfter = (before: string | null): string =>
  before === null ? leaseExpired : leaseExpired + errorBefore + before;

/** Where an event came from: a delivery, or the tasks API. */
export type DeliveryChannel = "webhook" | "reconcile";

export interface InboxRowReference {
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

export interface NewInboxRow extends EventColumns, DeliveryColumns, InboxRowReference {
  readonly channel: DeliveryChannel;
  /** When the delivery was signed, in Unix seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
  /** Why it is unusable; `null` for an event. */
  readonly quarantine: string | null;
}

export type InboxInsertResult =
  | { readonly outcome: "new" }
  /** `sameBody` is `null` when the first body has been purged. */
  | { readonly outcome: "duplicate"; readonly sameBody: boolean | null };

export interface StoredInboxRow extends EventColumns, DeliveryColumns, InboxRowReference {
  /** Increases with each stored row. */
  readonly seq: number;
  readonly channel: DeliveryChannel;
  readonly timestamp: number;
  readonly receivedAtMs: number;
  /** Attempts so far, a running one included. */
  readonly attempts: number;
  /** How many times the row was replayed. */
  readonly replays: number;
}

export interface InboxRowSummary extends StoredInboxRow {
  readonly state: InboxRowState;
  readonly dueAtMs: number;
  /** When a dead row died; `null` for others. */
  readonly diedAtMs: number | null;
  readonly lastError: string | null;
  readonly bodyBytes: number | null;
}

export interface InboxRowDetails extends InboxRowSummary {
  readonly body: Uint8Array | null;
}
