import { createHeap } from "../time/heap.ts";
import type { World } from "../world.ts";

/**
 * Many waiting things behind one timer of the world.
 *
 * A timer and its closures cost ten times what an entry here does, which counts with a hundred thousand
 * tasks or retries under way. What is due at one instant runs in the order of `rank`, not in the order
 * in which it was put down: when retries come due together it must not matter whose last answer came
 * in first.
 */
export interface Agenda<Item> {
  /** Puts `item` down for `delayMs` from now. Default rank: after everything put down so far. */
  add(delayMs: number, item: Item, rank?: number): AgendaEntry<Item>;
  /** Takes an entry off again; harmless when it has run. */
  remove(entry: AgendaEntry<Item>): void;
}

export type AgendaEntry<Item> = { readonly dueMs: number; readonly rank: number; item: Item | null };

export function createAgenda<Item>(world: World, run: (item: Item) => void): Agenda<Item> {
  const entries = createHeap<AgendaEntry<Item>>(
    (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.rank < b.rank),
  );
  let timer: { readonly dueMs: number; readonly cancel: () => void } | null = null;
  let nextRank = 0;
  let awake = false;

  const first = () => {
    while (entries.peek()?.item === null) entries.pop();
    return entries.peek();
  };

  const arm = () => {
    const entry = first();
    if (timer && (!entry || entry.dueMs < timer.dueMs)) {
      timer.cancel();
      timer = null;
    }
    if (!entry || timer) return;
    const { dueMs } = entry;
    timer = { dueMs, cancel: world.schedule(dueMs - world.clock.monotonic(), wake) };
  };

  const wake = () => {
    timer = null;
    awake = true;
    const nowMs = world.clock.monotonic();
    for (let entry = first(); entry && entry.dueMs <= nowMs; entry = first()) {
      entries.pop();
      const { item } = entry;
      entry.item = null;
      if (item !== null) run(item);
    }
    awake = false;
    arm();
  };

  return {
    add(delayMs, item, rank = nextRank++) {
      const entry = { dueMs: world.clock.monotonic() + Math.max(0, delayMs), rank, item };
      entries.push(entry);
      if (!awake && (!timer || entry.dueMs < timer.dueMs)) arm();
      return entry;
    },
    remove(entry) {
      entry.item = null;
    },
  };
}
