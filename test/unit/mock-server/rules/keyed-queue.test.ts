import { describe, expect, it } from "vitest";
import { asTheyArrive, createKeyedQueue, inStartOrder } from "../../../../mock-server/rules/keyed-queue.ts";

const nothing = () => undefined;

/** A queue whose items end when the test ends them. */
function createFixture(inFlightMax: number | (() => number), whenDone = asTheyArrive) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const rejected = new Set<string>();
  const queue = createKeyedQueue<string>({
    inFlightMax: typeof inFlightMax === "number" ? () => inFlightMax : inFlightMax,
    mayStart: (item) => !rejected.has(item),
    start(item) {
      started.push(item);
      return new Promise((resolve) => ends.set(item, () => resolve(nothing)));
    },
    whenDone,
  });
  const end = async (item: string) => {
    ends.get(item)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, started, end, rejected };
}

describe("keyed queue", () => {
  it("runs at most inFlightMax items at a time, in order", async () => {
    const { queue, started, end } = createFixture(2);
    for (const item of ["a", "b", "c", "d"]) queue.enqueue(item, item);
    expect(started).toEqual(["a", "b"]);
    await end("b");
    expect(started).toEqual(["a", "b", "c"]);
    await end("a");
    expect(started).toEqual(["a", "b", "c", "d"]);
  });

  it("starts the next items in one order, whichever item in flight ends first", async () => {
    const orders = [
      ["1a", "2a", "3a"],
      ["3a", "2a", "1a"],
      ["2a", "3a", "1a"],
    ].map(async (ends) => {
      const { queue, started, end } = createFixture(3, inStartOrder());
      for (const item of ["1a", "2a", "3a", "1b", "2b", "3b"]) queue.enqueue(`task ${item[0]}`, item);
      for (const item of ends) await end(item);
      return started;
    });
    for (const order of await Promise.all(orders))
      expect(order).toEqual(["1a", "2a", "3a", "1b", "2b", "3b"]);
  });
});
