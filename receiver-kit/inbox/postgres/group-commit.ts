// Each commit waits once for the disk, however much it writes. Items that arrive while earlier commits are in progress
// share the next one: under load every delivery waits for about one commit, and none has a commit of its own.

export interface GroupCommitOptions<Item, Result> {
  /** Writes all items in one transaction, within a limited time; returns the results in their order. */
  readonly commit: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Whether an error may be caused by one item, so that each item deserves a commit of its own. */
  readonly isCausedByItem: (error: unknown) => boolean;
  readonly itemsMax: number;
  readonly bytesOf: (item: Item) => number;
  /** Bytes of all items of a commit; a single item may be larger. */
  readonly bytesMax: number;
  readonly concurrency: number;
}

interface Entry<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Returns a function that resolves once its item is committed. It waits as long as the commits before it take: `commit`
 * has a time limit, and so has the caller, who bounds how many items wait.
 */
export function createGroupCommit<Item, Result>(
  options: GroupCommitOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const waiting: Entry<Item, Result>[] = [];
  let commitsInProgress = 0;
  let scheduled = false;

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
    await settleEntries(entries, options);
    commitsInProgress -= 1;
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
    const results = await options.commit(entries.map(({ item }) => item));
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
