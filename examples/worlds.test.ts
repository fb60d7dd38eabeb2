// Isolates tests that share one mock.

// #region worlds
import { createMockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";

it("two tests share a mock, each in a world of its own", async () => {
  await using mock = await createMockServer();
  await using one = await mock.worlds.create({ name: "one", clock: "virtual" });
  await using two = await mock.worlds.create({ name: "two" });
  await using client = createClient({ baseUrl: one.baseUrl, apiKey: one.apiKey, clock: one.clock });
  await client.webhooks.endpoints.create({ url: "https://receiver.example/webhooks" });
  expect((await one.control.listEndpoints()).data).toHaveLength(1);
  expect((await two.control.listEndpoints()).data).toEqual([]);
});
// #endregion
