import { describe, expect, test } from "vitest";
import { createLane } from "../../../../../mock-server/rules/deliveries/keyed-queue.ts";

/** A lane whose items end when told to. */
function createScene(inFlightMax: number) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const refused = new Set<string>();
  const lane = createLane<string>({
    inFlightMax,
    mayStart: (item) => !refused.has(item),
    start(item) {
      started.push(item);
      return new Promise((resolve) => ends.set(item, resolve));
    },
  });
  const end = async (item: string) => {
    ends.get(item)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lane, started, end, refused };
}

describe("a lane", () => {
  test("lets only so many run at a time, in order", async () => {
    const { lane, started, end } = createScene(2);
    for (const item of ["a", "b", "c", "d"]) lane.enqueue(item, item);
    expect(started).toEqual(["a", "b"]);
    await end("b");
    expect(started).toEqual(["a", "b", "c"]);
    await end("a");
    expect(started).toEqual(["a", "b", "c", "d"]);
  });

  test("runs one subject's items one after the other and lets others pass", async () => {
    const { lane, started, end } = createScene(10);
    lane.enqueue("task 1", "1a");
    lane.enqueue("task 1", "1b");
    lane.enqueue("task 1", "1c");
    lane.enqueue("task 2", "2a");
    expect(started).toEqual(["1a", "2a"]);
    await end("1a");
    expect(started).toEqual(["1a", "2a", "1b"]);
    await end("1b");
    expect(started).toEqual(["1a", "2a", "1b", "1c"]);
  });

  test("passes over an item that may not start any more, and frees its subject", async () => {
    const { lane, started, end, refused } = createScene(1);
    lane.enqueue("task 1", "1a");
    lane.enqueue("task 2", "2a");
    lane.enqueue("task 2", "2b");
    refused.add("2a");
    await end("1a");
    expect(started).toEqual(["1a", "2b"]);
  });

  test("stays in order when its queue is thousands long", async () => {
    const started: number[] = [];
    const lane = createLane<number>({
      inFlightMax: 3,
      mayStart: () => true,
      start: async (item) => {
        started.push(item);
      },
    });
    for (let item = 0; item < 10_000; item++) lane.enqueue(String(item), item);
    while (started.length < 10_000) await new Promise((resolve) => setImmediate(resolve));
    expect(started).toEqual(started.toSorted((a, b) => a - b));
  });
});
