// Calls the mock through MSW, which rejects every other request.
import assert from "node:assert/strict";
import { createMockServer } from "@workspace-tasks/mock-server";
import { mockHandlers } from "@workspace-tasks/mock-server/msw";
import { createClient, isWorkspaceTasksError } from "@workspace-tasks/sdk";
import { setupServer } from "msw/node";

const baseUrl = "https://api.tax.example";
const mock = await createMockServer({ listen: false });
const server = setupServer(...mockHandlers(mock, { baseUrl, gatewayUrl: `${baseUrl}/gateway` }));
server.listen({ onUnhandledRequest: "error" });

const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
const client = createClient({ baseUrl, apiKey });
assert.equal((await client.me()).__typename, "WorkspaceUser");
const creation = client.webhooks.endpoints.create({ url: "https://receiver.example/webhooks" });
await assert.rejects(creation, (error) => isWorkspaceTasksError(error, "PERMISSION_DENIED"));

const failing = createClient({ baseUrl, apiKey, maxRetries: 0 });
await mock.control.setFaults({ api: [{ operation: "me", instructions: [{ kind: "reset-before-effect" }] }] });
await assert.rejects(failing.me(), (error) => isWorkspaceTasksError(error, "NETWORK_FAILED"));
await Promise.all([client.close(), failing.close(), mock.close()]);
server.close();
