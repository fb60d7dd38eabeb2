import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHeap } from "../../../../mock-server/time/heap.ts";

describe("heap", () => {
  it("stays in order when items are added between, and compares nothing but its items", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(20), { freq: 3 }), { size: "medium" }), (steps) => {
        const heap = createHeap<{ readonly rank: number }>((a, b) => a.rank < b.rank);
        const ranks: number[] = [];
        for (const rank of steps) {
          if (rank === null) expect(heap.pop()?.rank).toBe(ranks.shift());
          else heap.push({ rank });
          if (rank !== null) ranks.push(rank);
          ranks.sort((a, b) => a - b);
          expect([heap.size, heap.peek()?.rank]).toEqual([ranks.length, ranks[0]]);
        }
      }),
    );
  });
});
