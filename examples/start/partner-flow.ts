// The client of `npm start`: from a new workspace to completed tasks.

import type { MockServer } from "@workspace-tasks/mock-server";
import { createClient, type Task, type WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { print, printStep } from "./output.ts";
import type { StartedReceiver } from "./receiver.ts";

const clients = ["Alma Reyes", "Bo Lindqvist", "Chidi Okafor"];

/** Returns the tasks as the service reports them at the end. */
export async function runPartnerFlow(mock: MockServer, receiver: StartedReceiver): Promise<readonly Task[]> {
  const urls = { baseUrl: mock.baseUrl, gatewayUrl: mock.gatewayUrl, sourcePlatform: "acme-portal" };
  await using partner = createClient({ ...urls, partnerApiKey: mock.partnerApiKey });

  const workspace = await partner.partner.workspaces.create({
    displayName: "Harbour Street Tax",
    firmSize: "sm",
    metadata: { customer: "C-1042" },
  });
  printStep("workspace", `${workspace.displayName} (${workspace.status}, slug ${workspace.slug})`);

  // The web app issues API keys; here the mock's control API does.
  const { apiKey } = await mock.control.createApiKey({ workspaceId: workspace.id });
  await using client = createClient({ ...urls, apiKey });
  const me = await client.me();
  printStep(
    "signed in",
    me.__typename === "WorkspaceUser" ? `${me.user.name}, role ${me.role}` : me.__typename,
  );

  const { endpoint, signingSecret } = await client.webhooks.endpoints.create({ url: receiver.url });
  receiver.secrets.push(signingSecret);
  printStep("endpoint", `${endpoint.url} receives ${endpoint.eventTypes?.join(", ") ?? "every event"}`);

  const jobId = await importJob(partner, workspace.id);
  print("");
  const taskIds = await receiver.states.waitForCount(clients.length);
  const tasks = await Promise.all(taskIds.map((id) => client.tasks.waitFor(id, { deadlineMs: 60_000 })));
  await receiver.states.waitFor(tasks);
  const { examined, enqueued } = await receiver.reconcile(client);
  print("");
  printStep("job", `${jobId} is imported`);
  printStep("reconcile", `${examined} tasks examined, ${enqueued} changes that no webhook had reported`);
  return tasks;
}

async function importJob(client: WorkspaceTasksClient, workspaceId: string): Promise<string> {
  const { connections, jobs, works } = client.partner;
  const started = await connections.start({
    workspaceId,
    providerKey: "acme-portal",
    inputs: { apiKey: "platform-key" },
  });
  const connection = await connections.collect(started.id, { inputs: { firmRef: "F-77" } });
  printStep("connection", `${started.status} → ${connection.status}`);

  const job = await jobs.create({ connectionId: connection.id, jobName: "Returns of 2025" });
  const added = await jobs.addWorks(
    job.id,
    clients.map((name, index) => ({ name, externalId: `client-${index + 1}` })),
  );
  for (const [index, work] of added.entries()) {
    await works.attachArtifacts(work.id, [
      { name: "w2.pdf", type: "w2", externalId: `w2-${index + 1}` },
      { name: "1099.pdf", type: "1099", externalId: `1099-${index + 1}` },
    ]);
  }
  printStep("job", `${job.name}: ${added.length} works with two documents each`);
  await jobs.startImport(job.id);
  printStep("import", "started; webhooks as they arrive:");
  return job.id;
}
