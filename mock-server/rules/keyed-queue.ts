/**
 * Starts at most `inFlightMax` items at a time, and those with the same key one after the other. So without faults
 * a task's events arrive in the order in which they happened, while tasks do not wait for each other.
 */
export interface KeyedQueue<Item> {
  enqueue(key: string, item: Item): void;
  /** Whether as many items are in flight as may be: a queued one waits for one of them. */
  isFull(): boolean;
}

interface KeyedQueueOptions<Item> {
  /** Read before each start: it can change while the queue lives. */
  inFlightMax(): number;
  /** Checked just before the start; `false` removes the item from the queue. */
  mayStart(item: Item): boolean;
  /** Resolves with a function that applies the result. Never rejects. */
  start(item: Item): Promise<() => void>;
  /** Calls `done` when the work has ended, or later, in another order. */
  whenDone(work: Promise<() => void>, done: (apply: () => void) => void): void;
}

interface Entry<Item> {
  readonly key: string;
  readonly item: Item;
}

export function createKeyedQueue<Item>({
  inFlightMax,
  mayStart,
  start,
  whenDone,
}: KeyedQueueOptions<Item>): KeyedQueue<Item> {
  const ready = createQueue<Entry<Item>>();
  // Keys: those with an item ready or in flight. Values: the entries queued behind it.
  const blocked = new Map<string, Entry<Item>[]>();
  let inFlight = 0;

  const unblock = (key: string) => {
    const next = blocked.get(key)?.shift();
    if (next) ready.put(next);
    else blocked.delete(key);
  };

  const startReady = () => {
    while (inFlight < inFlightMax()) {
      const entry = ready.take();
      if (!entry) return;
      if (mayStart(entry.item)) run(entry);
      else unblock(entry.key);
    }
  };

  const run = ({ key, item }: Entry<Item>) => {
    inFlight++;
    whenDone(start(item), (apply) => {
      apply();
      inFlight--;
      unblock(key);
      startReady();
    });
  };

  return {
    enqueue(key, item) {
      const entry = { key, item };
      const behind = blocked.get(key);
      if (behind) {
        behind.push(entry);
        return;
      }
      blocked.set(key, []);
      ready.put(entry);
      startReady();
    },
    isFull: () => inFlight >= inFlightMax(),
  };
}

/** First in, first out, in constant time also when long. */
function createQueue<Item>() {
  let items: (Item | undefined)[] = [];
  let head = 0;
  return {
    put: (item: Item) => items.push(item),
    take(): Item | undefined {
      const item = items[head];
      if (item === undefined) return undefined;
      // What was taken can be collected.
      items[head++] = undefined;
      if (head === items.length || (head > 1_000 && head * 2 > items.length)) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}

/** Calls `done` with the result of `work`. */
export type WhenDone<Result> = (work: Promise<Result>, done: (result: Result) => void) => void;

/**
 * Results in the order in which their work started: what follows from them does not depend on which socket responded
 * first.
 */
export function inStartOrder<Result>(): WhenDone<Result> {
  interface Started {
    readonly done: (result: Result) => void;
    settled: { readonly result: Result } | null;
  }
  // Short: work in flight. A queue that keeps what was taken would keep results, and cost 5 % of the time of a delivery.
  const started: Started[] = [];

  const finishReady = () => {
    for (let first = started[0]; first?.settled; first = started[0]) {
      started.shift();
      first.done(first.settled.result);
    }
  };

  return (work, done) => {
    const entry: Started = { done, settled: null };
    started.push(entry);
    void work.then((result) => {
      entry.settled = { result };
      finishReady();
    });
  };
}

/** Results as they arrive. */
export const asTheyArrive: WhenDone<() => void> = (work, done) => void work.then(done);
