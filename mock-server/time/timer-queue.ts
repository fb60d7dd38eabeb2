import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { warn } from "../host-process.ts";
import { createHeap } from "./heap.ts";

/**
 * A priority queue of due times behind a single timer.
 *
 * A timer and its closures cost ten times what an entry costs, which counts with 100,000 tasks or retries.
 * Entries due at the same instant run in the order of `rank`, not of insertion: when retries come due
 * together, the order in which the previous responses arrived must not matter.
 */
export interface TimerQueue<Entry extends TimerQueueEntry> {
  /** A cancelled entry stays in the queue until it is due and is then skipped. */
  add(entry: Entry): void;
}

export interface TimerQueueEntry {
  /** On the monotonic clock, which setting the time cannot move. */
  readonly dueMs: number;
  readonly rank: number;
}

export interface TimerQueueOptions<Entry> {
  readonly schedule: Clock["schedule"];
  monotonic(): number;
  /** False for an entry that has been cancelled. */
  isLive(entry: Entry): boolean;
  run(entry: Entry): void;
}

export function createTimerQueue<Entry extends TimerQueueEntry>({
  schedule,
  monotonic,
  isLive,
  run,
}: TimerQueueOptions<Entry>): TimerQueue<Entry> {
  const entries = createHeap<Entry>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.rank < b.rank));
  let timer: { readonly dueMs: number; readonly cancel: () => void } | null = null;
  let running = false;

  const first = () => {
    let entry = entries.peek();
    while (entry && !isLive(entry)) {
      entries.pop();
      entry = entries.peek();
    }
    return entry;
  };

  const setTimer = () => {
    const entry = first();
    if (timer && (!entry || entry.dueMs < timer.dueMs)) {
      timer.cancel();
      timer = null;
    }
    if (!entry || timer) return;
    const { dueMs } = entry;
    timer = { dueMs, cancel: schedule(dueMs - monotonic(), runDue, { background: true }) };
  };

  const runDue = () => {
    timer = null;
    running = true;
    const nowMs = monotonic();
    for (let entry = first(); entry && entry.dueMs <= nowMs; entry = first()) {
      entries.pop();
      try {
        run(entry);
      } catch (error) {
        // One entry's bug must neither end the process nor keep the others from running.
        warn(error);
      }
    }
    running = false;
    setTimer();
  };

  return {
    add(entry) {
      entries.push(entry);
      if (!running && (!timer || entry.dueMs < timer.dueMs)) setTimer();
    },
  };
}
