import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createHeap } from "../../../../mock-server/time/heap.ts";
import { createTimerQueue, type TimerQueueEntry } from "../../../../mock-server/time/timer-queue.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

describe("a heap", () => {
  test("gives items back in order, whatever order they came in", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (items) => {
        const heap = createHeap<number>((a, b) => a < b);
        for (const item of items) heap.push(item);
        const given: (number | undefined)[] = [];
        while (heap.size > 0) given.push(heap.pop());
        expect(given).toEqual([...items].sort((a, b) => a - b));
        expect(heap.peek()).toBeUndefined();
      }),
    );
  });
});

describe("a timer queue", () => {
  test("runs each entry at its time, and those of one instant by rank", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ dueMs: fc.integer({ min: 0, max: 20 }), rank: fc.integer() })),
        async (entries) => {
          const { world, clock } = createTestWorld();
          const ran: { entry: TimerQueueEntry; atMs: number }[] = [];
          const queue = createTimerQueue<TimerQueueEntry>({
            schedule: world.schedule,
            monotonic: world.clock.monotonic,
            isLive: () => true,
            run: (entry) => ran.push({ entry, atMs: clock.monotonic() }),
          });
          for (const entry of entries) queue.add(entry);
          await clock.advance(20);
          expect(ran.map(({ atMs }) => atMs)).toEqual(ran.map(({ entry }) => entry.dueMs));
          const byTimeAndRank = entries.toSorted((a, b) => a.dueMs - b.dueMs || a.rank - b.rank);
          expect(ran.map(({ entry }) => entry)).toEqual(byTimeAndRank);
        },
      ),
    );
  });

  test("passes over what has been called off, and keeps one timer for all the rest", async () => {
    const { clock, queue, ran, calledOff } = createNotes();
    for (const [index, note] of ["a", "b", "c"].entries())
      queue.add({ dueMs: 10 * (index + 1), rank: 0, note });
    expect(clock.pending().timers).toBe(1);
    calledOff.add("a").add("c");
    await clock.advance(20);
    expect(ran).toEqual(["b"]);
    expect(clock.pending().timers).toBe(0);
  });

  test("runs what an entry puts down for the same instant, within that instant", async () => {
    const { world, clock } = createTestWorld();
    const ran: number[] = [];
    const queue = createTimerQueue<TimerQueueEntry>({
      schedule: world.schedule,
      monotonic: world.clock.monotonic,
      isLive: () => true,
      run({ dueMs, rank }) {
        ran.push(clock.monotonic());
        if (rank < 3) queue.add({ dueMs, rank: rank + 1 });
      },
    });
    queue.add({ dueMs: 5, rank: 0 });
    await clock.advance(10);
    expect(ran).toEqual([5, 5, 5, 5]);
  });

  test("runs nothing of a world that has ended", async () => {
    const { world, clock, queue, ran } = createNotes();
    queue.add({ dueMs: 10, rank: 0, note: "before the end" });
    world.end();
    queue.add({ dueMs: 10, rank: 1, note: "after the end" });
    await clock.advance(60);
    expect(ran).toEqual([]);
  });
});

/** A timer queue of texts that keeps what has run. */
function createNotes() {
  const { world, clock } = createTestWorld();
  const ran: string[] = [];
  const calledOff = new Set<string>();
  const queue = createTimerQueue<TimerQueueEntry & { readonly note: string }>({
    schedule: world.schedule,
    monotonic: world.clock.monotonic,
    isLive: ({ note }) => !calledOff.has(note),
    run: ({ note }) => ran.push(note),
  });
  return { world, clock, queue, ran, calledOff };
}
