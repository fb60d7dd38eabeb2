import type { MockServer } from "workspace-tasks/mock-server";
import { createClient } from "workspace-tasks/sdk";

/** Subscribes URLs to every event of the mock's first workspace. */
export async function registerEndpoints(mock: MockServer, urls: readonly string[]): Promise<void> {
  const { apiKey, baseUrl, fetch } = mock;
  await using client = createClient({ apiKey, baseUrl, fetch, rateLimit: false });
  for (const url of urls) await client.webhooks.endpoints.create({ url });
}
