// Each commit waits once for the disk, however much it writes. Items that arrive while earlier commits are in progress
// share the next one: under load every delivery waits for about one commit, and none has a commit of its own.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError } from "../../errors.ts";

export interface GroupCommitOptions<Item, Result> {
  /** Writes all items in one transaction; returns the results in their order. */
  readonly commit: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Whether an error may be caused by one item, so that each item deserves a commit of its own. */
  readonly isCausedByItem: (error: unknown) => boolean;
  readonly itemsMax: number;
  readonly bytesOf: (item: Item) => number;
  /** Bytes of all items of a commit; a single item may be larger. */
  readonly bytesMax: number;
  readonly concurrency: number;
  /**
   * After this an item that waits is rejected and leaves the queue, and the items of a commit have failed; whether that
   * happened is unknown.
   */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly sinceMs: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Returns a function that resolves once its item is committed. */
export function createGroupCommit<Item, Result>(
  options: GroupCommitOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const waiting: Entry<Item, Result>[] = [];
  let commitsInProgress = 0;
  let scheduled = false;
  let cancelExpiry: (() => void) | undefined;

  // One timer for the queue: the first entry is the oldest.
  const scheduleExpiry = () => {
    const { clock, timeoutMs } = options;
    cancelExpiry?.();
    cancelExpiry = undefined;
    const [first] = waiting;
    if (!first) return;
    cancelExpiry = clock.schedule(Math.max(0, first.sinceMs + timeoutMs - clock.monotonic()), expire);
  };
  const expire = () => {
    const { clock, timeoutMs } = options;
    const beforeMs = clock.monotonic() - timeoutMs;
    const left = waiting.findIndex(({ sinceMs }) => sinceMs > beforeMs);
    for (const { reject } of waiting.splice(0, left === -1 ? waiting.length : left)) {
      reject(notCommitted(timeoutMs));
    }
    cancelExpiry = undefined;
    scheduleExpiry();
  };

  const schedule = () => {
    if (scheduled || commitsInProgress >= options.concurrency) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      if (waiting.length > 0) void commitNext();
    });
  };

  const countForNext = () => {
    let bytes = 0;
    const firstExcluded = waiting.findIndex(({ item }, index) => {
      bytes += options.bytesOf(item);
      return index >= options.itemsMax || (index > 0 && bytes > options.bytesMax);
    });
    return firstExcluded === -1 ? waiting.length : firstExcluded;
  };

  const commitNext = async () => {
    commitsInProgress += 1;
    const entries = waiting.splice(0, countForNext());
    scheduleExpiry();
    await settleEntries(entries, options);
    commitsInProgress -= 1;
    if (waiting.length > 0) schedule();
  };

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, sinceMs: options.clock.monotonic(), resolve, reject });
      schedule();
      // Otherwise it is committed in the next turn.
      if (!scheduled && !cancelExpiry) scheduleExpiry();
    });
}

const notCommitted = (timeoutMs: number) =>
  new ReceiverError("INBOX_UNAVAILABLE", `inbox: no commit began within queryTimeoutMs (${timeoutMs})`);

/** Never rejects: every entry is resolved or rejected. */
async function settleEntries<Item, Result>(
  entries: readonly Entry<Item, Result>[],
  options: GroupCommitOptions<Item, Result>,
): Promise<void> {
  const { timeoutMs, clock } = options;
  const outcomeUnknown = () =>
    new ReceiverError(
      "INBOX_UNAVAILABLE",
      `inbox: a commit took longer than queryTimeoutMs (${timeoutMs}), whether it happened is unknown`,
    );
  try {
    const commit = options.commit(entries.map(({ item }) => item));
    const results = await withTimeout(commit, timeoutMs, clock, outcomeUnknown);
    entries.forEach((entry, index) => {
      entry.resolve(results[index] as Result);
    });
  } catch (error) {
    if (entries.length > 1 && options.isCausedByItem(error)) {
      for (const entry of entries) await settleEntries([entry], options);
    } else {
      for (const entry of entries) entry.reject(error);
    }
  }
}
