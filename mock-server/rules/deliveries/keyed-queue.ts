import { createQueue } from "./queue.ts";

/**
 * Starts at most `inFlightMax` items at a time, and those with the same key one after the other. So without faults
 * a task's events arrive in the order in which they happened, while tasks do not wait for each other.
 */
export interface KeyedQueue<Item> {
  enqueue(key: string, item: Item): void;
  /** Whether as many items are in flight as may be: a queued one waits for one of them. */
  isFull(): boolean;
}

export interface KeyedQueueOptions<Item> {
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
