// Assertions on what a mock has received and delivered.

import { createMockServer } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { createClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";

it("the request for a client has its name", async () => {
  await using mock = await createMockServer();
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  const input = { name: "Ada", externalId: "a-1", returnType: "F1040", taxYear: 2025 };
  // #region expect-request
  await client.taxClients.create(input);
  const { sequence } = await mock.expectRequest({
    operation: "createClient",
    variables: { input: { name: "Ada" } },
    status: 200,
    times: 1,
  });
  await mock.expectNoRequest({ operation: "createClient", after: sequence });
  // #endregion
});

// #region matchers
mockTest("a completed task is delivered once", async ({ mock }) => {
  await mock.control.createEndpoint({ url: "http://127.0.0.1:1/webhooks" });
  const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
  await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
  await expect(mock).toHaveDelivery({ event: "task.completed", subject: taskId, times: 1 });
  await expect(mock).not.toHaveDelivery({ event: "task.failed" });
  await expect(mock).not.toHaveReceivedRequest({ operation: "createClient" });
});
// #endregion
