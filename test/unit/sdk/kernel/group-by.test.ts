import { expect, it } from "vitest";
import { groupBy } from "../../../../sdk/kernel/group-by.ts";

it("items are grouped by their keys, both in the order of the items", () => {
  const groups = groupBy(["b1", "a1", "b2"], ([letter]) => letter);
  expect([...groups]).toEqual([
    ["b", ["b1", "b2"]],
    ["a", ["a1"]],
  ]);
});
