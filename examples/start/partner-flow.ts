import type { MockServer } from "workspace-tasks/mock-server";
import { createClient, type Task, type WorkspaceTasksClient } from "workspace-tasks/sdk";
import { say, step } from "./narrator.ts";
import type { StartedReceiver } from "./receiver.ts";

const clients = ["Alma Reyes", "Bo Lindqvist", "Chidi Okafor"];

/** From a new workspace to finished tasks; answers what the service says of them in the end. */
export async function walkPartnerFlow(mock: MockServer, receiver: StartedReceiver): Promise<readonly Task[]> {
  const urls = { baseUrl: mock.baseUrl, gatewayUrl: mock.gatewayUrl, sourcePlatform: "acme-portal" };
  await using partner = createClient({ ...urls, partnerApiKey: mock.partnerApiKey });

  const workspace = await partner.partner.workspaces.create({
    displayName: "Harbour Street Tax",
    firmSize: "sm",
    metadata: { customer: "C-1042" },
  });
  step("workspace", `${workspace.displayName} (${workspace.status}, slug ${workspace.slug})`);

  // The web app issues API keys; the mock's admin stands in for it.
  const { apiKey } = mock.admin.createApiKey({ workspaceId: workspace.id });
  await using client = createClient({ ...urls, apiKey });
  const me = await client.me();
  step("signed in", me.__typename === "WorkspaceUser" ? `${me.user.name}, role ${me.role}` : me.__typename);

  const { endpoint, signingSecret } = await client.webhooks.endpoints.create({ url: receiver.url });
  receiver.secrets.push(signingSecret);
  step("endpoint", `${endpoint.url} receives ${endpoint.eventTypes?.join(", ") ?? "every event"}`);

  const jobId = await importJob(partner, workspace.id);
  say("");
  const taskIds = await receiver.heardOf(clients.length);
  const tasks = await Promise.all(taskIds.map((id) => client.tasks.waitFor(id, { deadlineMs: 60_000 })));
  await receiver.settled(tasks);
  const { examined, enqueued } = await receiver.reconcile(client);
  say("");
  step("job", `${jobId} has been imported`);
  step("reconcile", `${examined} tasks looked up, ${enqueued} changes that no webhook had told yet`);
  return tasks;
}

async function importJob(client: WorkspaceTasksClient, workspaceId: string): Promise<string> {
  const { connections, jobs, works } = client.partner;
  const started = await connections.start({
    workspaceId,
    providerKey: "acme-portal",
    inputs: { apiKey: "platform-key" },
  });
  const connection = await connections.collect({ connectionId: started.id, inputs: { firmRef: "F-77" } });
  step("connection", `${started.status} → ${connection.status}`);

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
  step("job", `${job.name}: ${added.length} works with two documents each`);
  await jobs.startImport(job.id);
  step("import", "started; the webhooks follow as they come in");
  return job.id;
}
