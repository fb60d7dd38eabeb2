import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { waitFor, waitForMatches } from "../../../../mock-server/control/wait-for-matches.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

interface Item {
  readonly id: number;
  status: string;
}

function setUp() {
  const { world } = createTestWorld();
  const items: Item[] = Array.from({ length: 1_000 }, (_, id) => ({ id, status: "pending" }));
  const counted = { comparisons: 0 };
  const expectation = {
    noun: "item",
    items: () => items,
    itemOf: ({ itemId }: { readonly [field: string]: unknown }) => items.find(({ id }) => id === itemId),
    differences({ status }: Item) {
      counted.comparisons++;
      return status === "done" ? [] : ["not done"];
    },
    describe: ({ id }: Item) => `item ${id}`,
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const change = async (itemId: number, status: string) => {
    const item = items.find(({ id }) => id === itemId);
    if (item) item.status = status;
    world.emit({ type: "item.changed", itemId });
    await turn();
  };
  const wait = (count: number) => waitForMatches(world, expectation, { count }, { timeoutMs: 60_000 });
  return { items, counted, change, wait };
}

it("compares all items once, and then those that something has happened to", async () => {
  const { counted, change, wait } = setUp();
  const waiting = wait(100);
  for (let id = 0; id < 99; id++) await change(id, "done");
  expect(counted.comparisons).toBeLessThan(2_500);
  await change(500, "done");
  expect(await waiting).toHaveLength(100);
});

it("an item that no longer matches, or is no longer kept, does not count", async () => {
  const { items, change, wait } = setUp();
  const waiting = wait(3);
  await change(1, "done");
  await change(2, "done");
  await change(1, "pending");
  items.splice(
    items.findIndex(({ id }) => id === 2),
    1,
  );
  for (const id of [10, 11]) await change(id, "done");
  await change(12, "done");
  expect((await waiting).map(({ id }) => id)).toEqual([10, 11, 12]);
});

function setUpPoll() {
  const wallClock = createVirtualClock();
  const { world } = createTestWorld();
  const state: { polls: number; result: string | undefined } = { polls: 0, result: undefined };
  const poll = () => {
    state.polls++;
    return state.result;
  };
  return { world, wallClock, state, poll };
}

describe("waitFor", () => {
  it("polls once for a thousand activities of one turn", async () => {
    const { world, wallClock, poll, state } = setUpPoll();
    const waiting = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    for (let count = 0; count < 1_000; count++) world.emit({ type: "delivery.attempted" });
    state.result = "it";
    expect(await waiting).toBe("it");
    expect(state.polls).toBe(2);
  });

  it("ends at the time limit, on abort and with the world, and then has no subscription or timer", async () => {
    const { world, wallClock, poll } = setUpPoll();
    const late = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    await wallClock.advance(999);
    expect(world.hasSubscribers).toBe(true);
    await wallClock.advance(1);
    expect(await late).toBeUndefined();
    const caller = new AbortController();
    const aborted = waitFor(world, poll, { timeoutMs: 1_000, wallClock, signal: caller.signal });
    caller.abort();
    expect(await aborted).toBeUndefined();
    expect(world.hasSubscribers).toBe(false);
    const orphaned = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    const reason = new Error("closed");
    world.end(reason);
    await expect(orphaned).rejects.toBe(reason);
    await expect(waitFor(world, poll, { timeoutMs: 1_000, wallClock })).rejects.toBe(reason);
    expect(wallClock.pending().timers).toBe(0);
  });

  it("rejects with what a poll after an activity throws", async () => {
    const { world, wallClock } = setUpPoll();
    let polls = 0;
    const poll = () => {
      if (polls++ > 0) throw new Error("no comparison");
      return undefined;
    };
    const waiting = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    world.emit({ type: "delivery.attempted" });
    await expect(waiting).rejects.toThrow("no comparison");
    expect(world.hasSubscribers).toBe(false);
  });
});
