import { expect, it } from "vitest";
import { GroupSize } from "../../../../../../receiver-kit/inbox/postgres/transactions/group-size.ts";

it("a group has eight events, half as many after each that is undone, and never none", () => {
  const size = new GroupSize();
  const sizes = Array.from({ length: 5 }, () => {
    size.onUndone();
    return size.max;
  });
  expect(sizes).toEqual([4, 2, 1, 1, 1]);
});

it("a group grows to eight events again while groups are kept", () => {
  const size = new GroupSize();
  for (let undone = 0; undone < 3; undone++) size.onUndone();
  for (let kept = 0; kept < 100; kept++) size.onKept();
  expect(size.max).toBe(8);
});
