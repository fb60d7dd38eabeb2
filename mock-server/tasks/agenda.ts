import { createHeap } from "../time/heap.ts";
import type { World } from "../world.ts";

/**
 * Many waiting things behind one timer of the world.
 *
 * A timer and its closures cost ten times what an entry here does, which counts with a hundred thousand
 * tasks or retries under way. What waits is its own entry, so that nothing is kept twice. What is due at
 * one instant runs in the order of `rank`, not in the order in which it was put down: when retries come
 * due together it must not matter whose last answer came in first.
 */
export interface Agenda<Entry extends AgendaEntry> {
  /** An entry that has been called off is passed over when its turn comes. */
  add(entry: Entry): void;
}

export type AgendaEntry = {
  /** On the world's monotonic clock, which setting the time cannot move. */
  readonly dueMs: number;
  readonly rank: number;
};

export type AgendaOptions<Entry> = {
  /** Whether an entry still waits, or has been called off. */
  waits(entry: Entry): boolean;
  run(entry: Entry): void;
};

export function createAgenda<Entry extends AgendaEntry>(
  world: World,
  { waits, run }: AgendaOptions<Entry>,
): Agenda<Entry> {
  const entries = createHeap<Entry>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.rank < b.rank));
  let timer: { readonly dueMs: number; readonly cancel: () => void } | null = null;
  let awake = false;

  const first = () => {
    let entry = entries.peek();
    while (entry && !waits(entry)) {
      entries.pop();
      entry = entries.peek();
    }
    return entry;
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
      run(entry);
    }
    awake = false;
    arm();
  };

  return {
    add(entry) {
      entries.push(entry);
      if (!awake && (!timer || entry.dueMs < timer.dueMs)) arm();
    },
  };
}
