// Prints the user of an API key and the running tasks.

// #region first-request
import { createClient } from "@workspace-tasks/sdk";

const client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
});

const me = await client.me();
if (me.__typename === "WorkspaceUser") {
  console.log(`${me.user.name} is ${me.role} of ${me.workspace.name}`);
}

for await (const task of client.tasks.list({ statuses: ["RUNNING"] })) {
  console.log(task.id, task.type, task.status);
}
await client.close();
// #endregion
