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

  it("shows the first item without removing it, and none when it is empty", () => {
    const heap = createHeap<number>((a, b) => a < b);
    expect([heap.peek(), heap.pop(), heap.size]).toEqual([undefined, undefined, 0]);
    for (const item of [3, 1, 2]) heap.push(item);
    expect([heap.peek(), heap.peek(), heap.size]).toEqual([1, 1, 3]);
    expect([heap.pop(), heap.size, heap.pop(), heap.pop(), heap.size]).toEqual([1, 2, 2, 3, 0]);
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

  it("compares about once per level", () => {
    let compared = 0;
    const heap = createHeap<number>((a, b) => {
      compared += 1;
      return a < b;
    });
    for (let item = 1_000; item > 0; item--) heap.push(item);
    expect(compared).toBeLessThan(1_000 * 11);
    compared = 0;
    for (let count = 0; count < 1_000; count++) heap.pop();
    expect(compared).toBeLessThan(1_000 * 22);
  });
});
