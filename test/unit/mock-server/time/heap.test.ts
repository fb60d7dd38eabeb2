import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHeap } from "../../../../mock-server/time/heap.ts";

describe("heap", () => {
  it("returns items in order, whatever the order of insertion", () => {
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
