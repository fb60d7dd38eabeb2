// Tests that leave the application's addresses as they are in production: MSW hands its requests to the mock.

// #region msw
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { mockHandlers } from "workspace-tasks/mock-server/msw";
import { createClient, isWorkspaceTasksError } from "workspace-tasks/sdk";

const baseUrl = "https://api.tax.example";
const mock = await createMockServer({ listen: false }); // no port
const server = setupServer(...mockHandlers(mock, { baseUrl, gatewayUrl: `${baseUrl}/gateway` }));

beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => mock.admin.reset()); // same keys again, nothing else left
afterAll(async () => {
  server.close();
  await mock.close();
});
// #endregion

test("a read-only key cannot create endpoints", async () => {
  const { apiKey } = mock.admin.createApiKey({ access: "read_only" });
  await using client = createClient({ baseUrl, apiKey });
  const refused = await client.webhooks.endpoints
    .create({ url: "https://receiver.example/webhooks" })
    .catch((error: unknown) => error);
  expect(isWorkspaceTasksError(refused, "PERMISSION_DENIED")).toBe(true);
});
