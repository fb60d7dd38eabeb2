import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { isReceiverError, ReceiverError } from "../errors.ts";
import type { InboxStore } from "../inbox/inbox.ts";
import { createByteBudget } from "./byte-budget.ts";

/** How long a request waits for its inbox. */
export interface InboxLimit {
  readonly acceptTimeoutMs: number;
  readonly clock: Clock;
}

/**
 * What an inbox rejects with, or does not resolve within `leftMs`, is an outage: the response is 503, and the delivery is sent
 * again.
 *
 * @throws {ReceiverError} `INBOX_UNAVAILABLE`
 */
export async function orUnavailable<Result>(
  { acceptTimeoutMs, clock }: InboxLimit,
  method: keyof InboxStore & string,
  result: Promise<Result>,
  leftMs = acceptTimeoutMs,
): Promise<Result> {
  const message = `inbox: ${method} did not return within acceptTimeoutMs (${acceptTimeoutMs})`;
  const late = () => new ReceiverError("INBOX_UNAVAILABLE", message);
  try {
    return await withTimeout(result, leftMs, clock, late);
  } catch (cause) {
    if (isReceiverError(cause, "INBOX_UNAVAILABLE")) throw cause;
    throw new ReceiverError("INBOX_UNAVAILABLE", "the inbox cannot store deliveries right now", { cause });
  }
}

interface Settings extends InboxLimit {
  readonly storingBytesMax: number;
  /** Opens the inbox, once; called again after it failed. */
  readonly open: () => Promise<void>;
}

/**
 * Returns a function that stores a delivery of `bytes` with `write`: in an inbox that is open, within `acceptTimeoutMs`, and
 * of few deliveries at a time. The bytes are in use until the inbox is finished with them, also after the time limit.
 */
export function createAcceptor(settings: Settings) {
  const { clock, acceptTimeoutMs, storingBytesMax, open } = settings;
  const take = createByteBudget(storingBytesMax);
  let isOpen = false;
  /** @throws {ReceiverError} `INBOX_UNAVAILABLE` */
  return async <Result>(
    method: "insert" | "beginInline" | "writeMarks",
    bytes: number,
    write: () => Promise<Result>,
  ): Promise<Result> => {
    const startedMs = clock.monotonic();
    const release = take(bytes);
    if (!isOpen)
      await orUnavailable(settings, "open", open()).catch((error: unknown) => {
        release();
        throw error;
      });
    isOpen = true;
    const leftMs = Math.max(1, acceptTimeoutMs - (clock.monotonic() - startedMs));
    const stored = async () => {
      try {
        return await write();
      } finally {
        release();
      }
    };
    return orUnavailable(settings, method, stored(), leftMs);
  };
}
