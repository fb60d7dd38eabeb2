// Prints the user of an API key and the events that webhooks can have.

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

for (const event of await client.webhooks.catalog()) console.log(event.name);
await client.close();
// #endregion
