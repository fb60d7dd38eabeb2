import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { expect } from "vitest";

mockTest("a call is received", async ({ mock }) => {
  await expect(mock).toHaveReceivedRequest({ operation: "me" });
  await expect(mock).not.toHaveDelivery({ event: "task.failed" });
});
