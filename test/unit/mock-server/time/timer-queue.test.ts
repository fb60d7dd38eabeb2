import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTimerQueue, type TimerQueueEntry } from "../../../../mock-server/time/timer-queue.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

describe("timer queue", () => {
  it("runs each entry at its time, and those of one instant by rank", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ dueMs: fc.integer({ min: 0, max: 20 }), rank: fc.integer() })),
        async (entries) => {
          const ran: { entry: TimerQueueEntry; atMs: number }[] = [];
          const { queue, clock } = createQueue((entry) => void ran.push({ entry, atMs: clock.monotonic() }));
          for (const entry of entries) queue.add(entry);
          await clock.advance(20);
          expect(ran.map(({ atMs }) => atMs)).toEqual(ran.map(({ entry }) => entry.dueMs));
          const byTimeAndRank = entries.toSorted((a, b) => a.dueMs - b.dueMs || a.rank - b.rank);
          expect(ran.map(({ entry }) => entry)).toEqual(byTimeAndRank);
        },
      ),
    );
  });

  it("warns of an entry that throws, and runs the others", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const ran: number[] = [];
    const { queue, clock } = createQueue(({ rank }) => {
      if (rank === 1) throw new Error("a bug of the entry");
      ran.push(rank);
    });
    for (const rank of [0, 1, 2]) queue.add({ dueMs: 10, rank });
    queue.add({ dueMs: 20, rank: 3 });
    await clock.advance(20);
    expect(ran).toEqual([0, 2, 3]);
    expect((await warned).message).toBe("a bug of the entry");
  });

  it("skips cancelled entries and has one timer for all others", async () => {
    const { clock, queue, ran, cancelled } = createNotes();
    for (const [index, note] of ["a", "b", "c"].entries())
      queue.add({ dueMs: 10 * (index + 1), rank: 0, note });
    expect(clock.pending().timers).toBe(1);
    cancelled.add("a").add("c");
    await clock.advance(20);
    expect(ran).toEqual(["b"]);
    expect(clock.pending().timers).toBe(0);
  });
});

function createQueue<Entry extends TimerQueueEntry>(
  run: (entry: Entry) => void,
  isLive = (_: Entry) => true,
) {
  const { world, clock } = createTestWorld();
  const { monotonic } = world.clock;
  const queue = createTimerQueue<Entry>({ schedule: world.schedule, monotonic, isLive, run });
  return { world, clock, queue };
}

/** A timer queue of notes that records which ones ran. */
function createNotes() {
  const ran: string[] = [];
  const cancelled = new Set<string>();
  const isLive = ({ note }: { readonly note: string }) => !cancelled.has(note);
  const run = ({ note }: TimerQueueEntry & { readonly note: string }) => ran.push(note);
  return { ...createQueue(run, isLive), ran, cancelled };
}
