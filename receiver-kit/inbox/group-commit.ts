// Each commit costs one wait for the disk, however much it writes. What comes while earlier commits are under way is
// gathered and shares the next: under load every delivery waits for about one commit, and none has one to itself.

import type { Clock } from "../clock.ts";

export type GroupCommitOptions<Item, Result> = {
  /** Writes all items in one transaction; answers in their order. */
  readonly commit: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Whether an error may be the fault of one item, so that the others deserve a commit without it. */
  readonly isItemsFault: (error: unknown) => boolean;
  readonly itemsMax: number;
  /** Bytes of one item, and of all items of a commit; one item alone may be heavier. */
  readonly bytesOf: (item: Item) => number;
  readonly bytesMax: number;
  readonly commitsAtOnceMax: number;
  /** A commit that takes longer has failed as far as its items are concerned: whether it happened is not known. */
  readonly timeoutMs: number;
  readonly clock: Clock;
};

type Entry<Item, Result> = {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

/** Returns a function that resolves once its item is committed. */
export function createGroupCommit<Item, Result>(
  options: GroupCommitOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const waiting: Entry<Item, Result>[] = [];
  let commitsUnderWay = 0;
  let scheduled = false;

  const schedule = () => {
    if (scheduled || commitsUnderWay >= options.commitsAtOnceMax) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      if (waiting.length > 0) void commitNext();
    });
  };

  const countForNext = () => {
    let bytes = 0;
    const firstLeftOut = waiting.findIndex(({ item }, index) => {
      bytes += options.bytesOf(item);
      return index >= options.itemsMax || (index > 0 && bytes > options.bytesMax);
    });
    return firstLeftOut === -1 ? waiting.length : firstLeftOut;
  };

  const commitNext = async () => {
    commitsUnderWay += 1;
    await settleEntries(waiting.splice(0, countForNext()), options);
    commitsUnderWay -= 1;
    if (waiting.length > 0) schedule();
  };

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}

/** Never rejects: every entry is resolved or rejected. */
async function settleEntries<Item, Result>(
  entries: readonly Entry<Item, Result>[],
  options: GroupCommitOptions<Item, Result>,
): Promise<void> {
  try {
    const commit = options.commit(entries.map(({ item }) => item));
    const results = await withTimeout(commit, options.timeoutMs, options.clock);
    entries.forEach((entry, index) => {
      entry.resolve(results[index] as Result);
    });
  } catch (error) {
    if (entries.length === 1 || !options.isItemsFault(error)) {
      for (const entry of entries) entry.reject(error);
      return;
    }
    for (const entry of entries) await settleEntries([entry], options);
  }
}

function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number, clock: Clock): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(timeoutMs, () =>
      reject(
        new Error(`inbox: a commit took longer than ${timeoutMs} ms, so whether it happened is not known`),
      ),
    );
    promise.then(resolve, reject).finally(cancel);
  });
}
