import { isReceiverError } from "@workspace-tasks/receiver-kit";
import { expect, it } from "vitest";
import { createByteBudget } from "../../../../receiver-kit/worker/byte-budget.ts";

it("a byte budget can be used up exactly, with 8 KiB for the request of each delivery", () => {
  const take = createByteBudget(20_000);
  take(0);
  take(20_000 - 2 * 8_192);
  const rejected = () => take(0);
  expect(rejected).toThrow(expect.toSatisfy((error) => isReceiverError(error, "INBOX_UNAVAILABLE")));
});
