import { expect, it } from "vitest";
import { createByteBudget } from "../../../receiver-kit/byte-budget.ts";

it("a byte budget rejects what exceeds it, until bytes are given back, and never a single delivery", () => {
  const budget = createByteBudget(100_000);
  const giveBack = budget.take(500_000);
  expect(() => budget.take(1)).toThrow(
    "more than 100000 bytes of deliveries wait for the inbox to store them",
  );
  giveBack();
  giveBack();
  budget.take(40_000);
  budget.take(40_000);
  expect(() => budget.take(10_000)).toThrow();
});
