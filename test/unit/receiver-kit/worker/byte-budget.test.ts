import { isReceiverError } from "@workspace-tasks/receiver-kit";
import { expect, it } from "vitest";
import { createByteBudget } from "../../../../receiver-kit/worker/byte-budget.ts";

it("a byte budget rejects what exceeds it, until bytes are given back, and never a single delivery", () => {
  const take = createByteBudget(100_000);
  const giveBack = take(500_000);
  expect(() => take(1)).toThrow(
    "more than storingBytesMax (100000) bytes of deliveries wait for the inbox to store them",
  );
  giveBack();
  giveBack();
  take(40_000);
  take(40_000);
  expect(() => take(10_000)).toThrow();
});

it("a byte budget can be used up exactly, with 8 KiB for the request of each delivery", () => {
  const take = createByteBudget(20_000);
  take(0);
  take(20_000 - 2 * 8_192);
  const rejected = () => take(0);
  expect(rejected).toThrow(expect.toSatisfy((error) => isReceiverError(error, "INBOX_UNAVAILABLE")));
});
