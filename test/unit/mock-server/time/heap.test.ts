import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHeap } from "../../../../mock-server/time/heap.ts";

describe("heap", () => {
  it("returns items in order, whatever the order of insertion", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (items) => {
        // It compares nothing but its items.
        const heap = createHeap<{ readonly at: number }>((a, b) => a.at < b.at);
        for (const at of items) heap.push({ at });
        const given: (number | undefined)[] = [];
        while (heap.size > 0) given.push(heap.pop()?.at);
        expect(given).toEqual([...items].sort((a, b) => a - b));
        expect(heap.peek()).toBeUndefined();
      }),
    );
  });

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
