// What requests need of an inbox. The states of rows and the general promises are described in inbox.ts.

import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { InboxInsertResult, NewInboxRow } from "./row.ts";

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
