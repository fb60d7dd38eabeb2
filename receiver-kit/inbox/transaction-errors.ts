// What a handler's transaction throws, whatever the inbox.

import { ReceiverError } from "../errors.ts";

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
