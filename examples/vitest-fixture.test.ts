// Tests an integration with a new mock for each test.

// #region vitest
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { createClient } from "@workspace-tasks/sdk";
import { expect } from "vitest";

mockTest("a connection with an invalid key fails", async ({ mock }) => {
  const { baseUrl, gatewayUrl, apiKey, workspaceId } = mock;
  await using client = createClient({ baseUrl, gatewayUrl, apiKey });
  const inputs = { apiKey: "invalid-key" };
  const { id } = await client.partner.connections.start({ workspaceId, providerKey: "acme-portal", inputs });
  const connection = await client.partner.connections.collect(id);
  expect(connection.status).toBe("failed");
});
// #endregion

// #region faults
mockTest("a call succeeds after its token expired", async ({ mock }) => {
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  await mock.control.setFaults({ api: [{ operation: "me", instructions: [{ kind: "expire-token" }] }] });
  const { data, meta } = await client.me().withMeta();
  expect(data.__typename).toBe("WorkspaceUser");
  expect(meta.attempts).toBe(2);
});
// #endregion

// #region time-travel
const onVirtualTime = mockTest.extend({ mockOptions: { clock: "virtual" } });

onVirtualTime("the 121st request waits until the next minute", async ({ mock }) => {
  const { baseUrl, apiKey, clock } = mock;
  await using client = createClient({ baseUrl, apiKey, clock });
  for (let count = 0; count < 120; count++) await client.me();
  const waiting = client.me();
  await clock.advance("61s");
  expect((await waiting).__typename).toBe("WorkspaceUser");
});

// #endregion

// #region control-client
import { createControlClient } from "@workspace-tasks/mock-server";

mockTest("another process controls the mock over HTTP", async ({ mock }) => {
  const control = createControlClient({ baseUrl: mock.baseUrl });
  await control.createEndpoint({ url: "http://127.0.0.1:4711/webhooks" });
  const { taskId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
  await control.setTaskStatus(taskId, { status: "COMPLETED" });
  const { data } = await control.listDeliveries({ subject: taskId });
  expect(data.map(({ event }) => event)).toEqual(["task.running", "task.completed"]);
});
// #endregion
