// Creates a workspace, uploads a document, imports a job from the partner's platform, and waits for the tasks.

// #region partner-flow
import { setTimeout as pause } from "node:timers/promises";
import { createClient, isWorkspaceTasksError, type Task } from "@workspace-tasks/sdk";

await using client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010",
  gatewayUrl: process.env["WORKSPACE_TASKS_GATEWAY_URL"] ?? "http://127.0.0.1:4010/gateway",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
  partnerApiKey: process.env["WORKSPACE_TASKS_PARTNER_API_KEY"],
  sourcePlatform: "acme-portal",
});

// One workspace per firm. Its API key is issued in the web app; the partner key works only at the gateway.
const firm = await client.partner.workspaces.create({
  displayName: "Harbour Street Tax",
  firmSize: "sm",
  metadata: { customer: "C-1042" },
});
await client.partner.workspaces.addUsers(firm.id, { userEmails: ["owner@harbour.example"] });
console.log(`workspace ${firm.slug} is ${firm.status}`);

// The following calls use the workspace of the API key.
const me = await client.me();
if (me.__typename !== "WorkspaceUser") throw new Error("the API key belongs to no workspace");
const workspaceId = me.workspace.id;

// The upload is sent in chunks and resumes after a lost connection. The new client starts with the document.
const document = new Blob(["%PDF-1.7 ", "x".repeat(6_000_000)], { type: "application/pdf" });
const { uploadId, sizeBytes } = await client.uploads.upload(document, {
  fileName: "w2.pdf",
  mimeType: "application/pdf",
  onProgress: ({ sentBytes }) => console.log(`  uploaded ${sentBytes} bytes`),
});
const { client: person, taskId } = await client.taxClients.create({
  name: "Alma Reyes",
  externalId: `alma-${Date.now()}`,
  returnType: "F1040",
  taxYear: 2025,
  uploadIds: [uploadId],
});
if (taskId) await client.tasks.waitFor(taskId);
console.log(`${person.name} has a binder of ${sizeBytes} bytes`);

// A connection to the partner's platform, and a job with works and their documents.
const { connections, jobs, works } = client.partner;
const { id: connectionId } = await connections.start({
  workspaceId,
  providerKey: "acme-portal",
  inputs: { apiKey: "platform-key" },
});
const connection = await connections.collect(connectionId, { inputs: { firmRef: "F-77" } });
if (connection.status !== "active") throw new Error(`the connection is not active: ${connection.status}`);

const job = await jobs.create({ connectionId, jobName: "Returns of 2025" });
const added = await jobs.addWorks(job.id, [
  { name: "Bo Lindqvist", externalId: `bo-${job.id}` },
  { name: "Chidi Okafor", externalId: `chidi-${job.id}` },
]);
for (const work of added) {
  await works.attachArtifacts(work.id, [{ name: "1099.pdf", type: "1099", externalId: `1099-${work.id}` }]);
}
await jobs.startImport(job.id);
console.log(`job ${job.name}: ${added.length} works are imported`);

// Webhooks report the tasks as they start. Without a receiver, poll the list.
let started: Task[] = [];
while (started.length < added.length) {
  await pause(500);
  const tasks = await client.tasks.list({ types: ["TAX_PREP"] }).toArray();
  started = tasks.filter((task) => task.attributes.some(({ value }) => value === job.id));
}
for (const { id } of started) {
  try {
    const { result, client: of } = await client.tasks.waitFor(id);
    if (result.__typename === "TaskTaxPrepResult") console.log(`${of?.name}: ${result.summary}`);
  } catch (error) {
    if (!isWorkspaceTasksError(error, "TASK_FAILED")) throw error;
    console.log(error.message);
  }
}
// #endregion
