// A handler's transaction begins when the handler first uses it; an event whose handlers write nothing is settled in a
// shared commit instead.

import { isReceiverError, ReceiverError } from "../errors.ts";
import type { InboxClaim, InboxSettlement, InboxSettleOutcome, InboxSettling } from "./inbox.ts";

export interface LazyTransactionOptions<Opened> {
  readonly items: readonly InboxSettling[];
  /** Begins the transaction: checks that the claim is held and advances the head. */
  open(): Promise<Opened>;
  /** Settles the row and commits. */
  commit(opened: Opened): Promise<"settled" | "lost">;
  rollBack(opened: Opened): Promise<void>;
  /** Settles a single row without a transaction of its own. */
  settleInGroup(claim: InboxClaim, settlement: InboxSettlement): Promise<InboxSettleOutcome>;
}

/** The methods of a `HandlerTransaction`, and `opened` and `fail` for its handle. */
export function createLazyTransaction<Opened>(options: LazyTransactionOptions<Opened>) {
  let opening: Promise<Opened> | undefined;
  let ended = false;
  let failure: Error | undefined;

  const throwIfEnded = () => {
    if (ended) throw transactionEnded();
  };

  return {
    /** @throws {ReceiverError} `TRANSACTION_ENDED` */
    throwIfEnded,
    /** Begins the transaction at the first call. @throws {ReceiverError} `TRANSACTION_ENDED` */
    async opened(): Promise<Opened> {
      throwIfEnded();
      opening ??= options.open();
      const opened = await opening;
      throwIfEnded();
      return opened;
    },
    /** Throws `error` now and at the commit: a handler may catch what its query throws. */
    fail(error: Error): never {
      failure ??= error;
      throw error;
    },
    async commit(): Promise<InboxSettleOutcome> {
      ended = true;
      if (failure) throw failure;
      const [first, ...others] = options.items;
      if (!opening && first && others.length === 0)
        return options.settleInGroup(first.claim, first.settlement);
      // The rows of a batch end together, also without a write of the handler.
      opening ??= options.open();
      const opened = opening;
      return opened.then(options.commit).catch(async (error: unknown) => {
        const outcome = outcomeOf(error);
        await opened.then(options.rollBack).catch(() => undefined);
        return outcome;
      });
    },
    async rollback(): Promise<void> {
      ended = true;
      const opened = await opening?.catch(() => undefined);
      if (opened) await options.rollBack(opened);
    },
  };
}

/** What an error says of the row, where it does; throws every other one. */
export function outcomeOf(error: unknown): InboxSettleOutcome {
  if (isReceiverError(error, "LEASE_LOST")) return "lost";
  if (isReceiverError(error, "SUPERSEDED")) return "superseded";
  throw error;
}

/** Another worker may have the row. */
export const leaseLost = () =>
  new ReceiverError(
    "LEASE_LOST",
    "the lease on this event was lost: another worker may be handling it, so nothing is written",
  );

/** A newer event of the same key was applied since the row was claimed. */
export const superseded = () =>
  new ReceiverError(
    "SUPERSEDED",
    "a newer event of the same task or stage was applied meanwhile, so nothing is written",
  );

export const transactionEnded = () =>
  new ReceiverError("TRANSACTION_ENDED", "the transaction of this event has ended");
