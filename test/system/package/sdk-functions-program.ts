// Clients with functions that fail.

import { createMockServer } from "@workspace-tasks/mock-server";
import { type CreateClientOptions, createClient } from "@workspace-tasks/sdk";
import { behaviour, hostile, printOutcomes } from "./hostile-functions.ts";

/** The others fail, or complete, long before it. */
const deadline = () => (behaviour === "never settles" ? 500 : 30_000);
type Client = ReturnType<typeof createClient>;

/** What a call resolves to, or the code of its error. */
async function outcomeOf(
  call: (client: Client, taskId: string) => Promise<unknown>,
  options: Partial<CreateClientOptions> = {},
): Promise<unknown> {
  await using mock = await createMockServer({ listen: false });
  const { apiKey, baseUrl, gatewayUrl } = mock;
  const client = createClient({
    apiKey,
    baseUrl,
    gatewayUrl,
    fetch: mock.fetch,
    deadlineMs: deadline(),
    ...options,
  });
  const { taskId } = await mock.control.startTask({ taskType: "TAX_PREP" });
  try {
    await call(client, taskId);
    return "done";
  } catch (error) {
    return (error as { readonly code?: unknown }).code ?? String(error);
  } finally {
    await client.close();
  }
}

const file = () => ({ fileName: "a.pdf", mimeType: "application/pdf", deadlineMs: deadline() });

await printOutcomes({
  apiKey: () => outcomeOf((client) => client.me(), { apiKey: hostile }),
  fetch: () => outcomeOf((client) => client.me(), { fetch: hostile, maxRetries: 0 }),
  "uploads.upload onProgress": () =>
    outcomeOf((client) => client.uploads.upload(Buffer.from("%PDF"), { ...file(), onProgress: hostile })),
  "tasks.waitFor onProgress": () =>
    outcomeOf((client, taskId) =>
      client.tasks.waitFor(taskId, { deadlineMs: deadline(), onProgress: hostile }),
    ),
});
