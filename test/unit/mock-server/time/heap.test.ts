import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHeap } from "../../../../mock-server/time/heap.ts";

describe("heap", () => {
  it("stays in order when items are added between", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(20), { freq: 2 })), (steps) => {
        const heap = createHeap<number>((a, b) => a < b);
        const items: number[] = [];
        for (const step of steps) {
          if (step === null) expect(heap.pop()).toBe(items.sort((a, b) => a - b).shift());
          else {
            heap.push(step);
            items.push(step);
          }
          expect([heap.size, heap.peek()]).toEqual([items.length, items.toSorted((a, b) => a - b)[0]]);
        }
      }),
    );
  });
});
