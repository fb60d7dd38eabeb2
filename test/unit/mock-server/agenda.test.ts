import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAgenda } from "../../../mock-server/tasks/agenda.ts";
import { createHeap } from "../../../mock-server/time/heap.ts";
import { createWorldBench } from "../../support/mock-world.ts";

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

describe("an agenda", () => {
  test("runs each item at its time, and those of one instant by rank", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ delayMs: fc.integer({ min: 0, max: 20 }), rank: fc.integer() })),
        async (items) => {
          const { world, clock } = createWorldBench();
          const startMs = clock.now();
          const ran: { delayMs: number; rank: number; atMs: number }[] = [];
          const agenda = createAgenda<(typeof items)[number]>(world, (item) =>
            ran.push({ ...item, atMs: clock.now() - startMs }),
          );
          for (const item of items) agenda.add(item.delayMs, item, item.rank);
          await clock.advance(20);
          expect(ran.map(({ atMs }) => atMs)).toEqual(ran.map(({ delayMs }) => delayMs));
          const byTimeAndRank = items.toSorted((a, b) => a.delayMs - b.delayMs || a.rank - b.rank);
          expect(ran.map(({ delayMs, rank }) => [delayMs, rank])).toEqual(
            byTimeAndRank.map(({ delayMs, rank }) => [delayMs, rank]),
          );
        },
      ),
    );
  });

  test("does not run what was taken off, and keeps one timer for all of it", async () => {
    const { world, clock } = createWorldBench();
    const ran: string[] = [];
    const agenda = createAgenda<string>(world, (item) => ran.push(item));
    const entries = ["a", "b", "c"].map((item, index) => agenda.add(10 * (index + 1), item));
    expect(clock.pending().timers).toBe(1);
    if (entries[0]) agenda.remove(entries[0]);
    await clock.advance(30);
    expect(ran).toEqual(["b", "c"]);
    expect(clock.pending().timers).toBe(0);
  });

  test("runs what an item puts down for the same instant, within that instant", async () => {
    const { world, clock } = createWorldBench();
    const startMs = clock.now();
    const ran: number[] = [];
    const agenda = createAgenda<number>(world, (left) => {
      ran.push(clock.now() - startMs);
      if (left > 0) agenda.add(0, left - 1);
    });
    agenda.add(5, 3);
    await clock.advance(10);
    expect(ran).toEqual([5, 5, 5, 5]);
  });

  test("runs nothing of a world that has ended", async () => {
    const { world, clock } = createWorldBench();
    const ran: string[] = [];
    const agenda = createAgenda<string>(world, (item) => ran.push(item));
    agenda.add(10, "before the end");
    world.end();
    agenda.add(10, "after the end");
    await clock.advance(60);
    expect(ran).toEqual([]);
  });
});
