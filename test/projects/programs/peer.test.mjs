// Two tests with a mock each, and the matchers.
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { createClient } from "@workspace-tasks/sdk";
import { expect } from "vitest";

const onVirtualTime = mockTest.extend({ mockOptions: { clock: "virtual" } });

onVirtualTime("a task completes in virtual time", async ({ mock }) => {
  const { baseUrl, apiKey, clock, control } = mock;
  const client = createClient({ baseUrl, apiKey, clock });
  const { taskId } = await control.startTask({ taskType: "TAX_PREP" });
  expect((await clock.runUntil(client.tasks.waitFor(taskId))).status).toBe("COMPLETED");
  await client.me();
  await expect(mock).toHaveReceivedRequest({ operation: "me" });
  await client.close();
});

mockTest("another test has another mock", async ({ mock }) => {
  expect((await mock.control.listTasks()).data).toEqual([]);
});
