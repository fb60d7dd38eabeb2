// Receives the webhooks of several workspaces with one receiver, and reconciles each with a client of its own.

import { tmpdir } from "node:os";
import { join } from "node:path";

// #region receiver
import { createReceiver, memoryInbox, type Tenant, type TenantClient } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";

// In memory, because it is read at every delivery; fill it from your database, and again when a tenant changes.
const tenants = new Map<string, Tenant>();
const clients = new Map<string, TenantClient>();

const receiver = createReceiver({
  secrets: { byTenant: ({ path }) => tenants.get(path.replace("/webhooks/", "")) },
  inbox: memoryInbox(), // for this example; in production use sqliteInbox or postgresInbox
  reconcile: { client: () => clients.values() },
});
receiver.onState("task", ({ taskId, status }, { tenant }) => {
  console.log(`${tenant}: task ${taskId.slice(0, 8)} is ${status}`);
});

const app = express();
app.post("/webhooks/:tenant", webhookMiddleware(receiver));
await receiver.start();
// #endregion

const { createMockServer } = await import("@workspace-tasks/mock-server");
const { createClient, fileSecrets } = await import("@workspace-tasks/sdk");
const { mkdtemp, rm } = await import("node:fs/promises");
const folder = await mkdtemp(join(tmpdir(), "tenants-"));

const server = app.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : undefined}`;

for (const id of ["acme", "bolt"]) {
  // Each mock is another workspace.
  await using mock = await createMockServer();
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  // #region onboard
  const me = await client.me();
  if (me.__typename !== "WorkspaceUser") throw new Error("the key is not of a workspace");
  const url = `${origin}/webhooks/${id}`;
  const store = fileSecrets(`${folder}/${id}.json`); // or two functions of your own, on your database
  const { secrets } = await client.webhooks.ensureEndpoint({ url, secrets: store });
  const tenant = { id, workspaceId: me.workspace.id, secrets };
  tenants.set(id, tenant);
  clients.set(id, { tenant, client });
  // #endregion
  const completed = new Promise((resolve) => receiver.on("task.completed", resolve));
  await mock.control.startTask({ taskType: "TAX_PREP", progression: "immediate", stages: [] });
  await completed;
  clients.delete(id); // in this example the workspace ends
}
await receiver.close();
server.close();
await rm(folder, { recursive: true });
