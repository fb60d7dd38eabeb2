// Tests an application with its production URLs: MSW passes the requests to the mock.

// #region msw
import { createMockServer } from "@workspace-tasks/mock-server";
import { mockHandlers } from "@workspace-tasks/mock-server/msw";
import { createClient } from "@workspace-tasks/sdk";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

const baseUrl = "https://api.tax.example";
const mock = await createMockServer({ listen: false }); // no port
const server = setupServer(...mockHandlers(mock, { baseUrl, gatewayUrl: `${baseUrl}/gateway` }));

beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => mock.control.reset()); // back to the initial state, with the same keys
afterAll(async () => {
  server.close();
  await mock.close();
});

it("rejects the creation of an endpoint with a read-only key", async () => {
  const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
  await using client = createClient({ baseUrl, apiKey, rateLimit: false }); // a reset mock counts anew
  const creation = client.webhooks.endpoints.create({ url: "https://receiver.example/webhooks" });
  await expect(creation).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});
// #endregion
