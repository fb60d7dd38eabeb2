import { expect, it } from "vitest";
import { waitForMatches } from "../../../../../mock-server/control/lists/wait-for-matches.ts";
import { createTestWorld } from "../../../../support/mock-world.ts";

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
