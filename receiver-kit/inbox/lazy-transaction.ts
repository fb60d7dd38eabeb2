// A handler's transaction begins when the handler first uses it; an event whose handlers write nothing is settled in a
// shared commit instead.

import { isReceiverError, ReceiverError } from "../errors.ts";
import type { InboxSettleOutcome } from "./inbox.ts";

export interface LazyTransactionOptions<Opened> {
  /** Begins the transaction: checks that the claim is held and advances the head. */
  open(): Promise<Opened>;
  /** Settles the row and commits. */
  commit(opened: Opened): Promise<"settled" | "repeat">;
  rollBack(opened: Opened): Promise<void>;
  /** Settles without a transaction of its own. */
  settleInGroup(): Promise<InboxSettleOutcome>;
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
      return opening ? opening.then(options.commit).catch(outcomeOf) : options.settleInGroup();
    },
    async rollback(): Promise<undefined> {
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

/** The handlers of the event run again, without others in their transaction. */
export const leftShared = (why: string) =>
  new ReceiverError(
    "TRANSACTION_ENDED",
    `the event left its shared transaction: ${why}; its handlers run again`,
  );

export const transactionEnded = () =>
  new ReceiverError("TRANSACTION_ENDED", "the transaction of this event has ended");
