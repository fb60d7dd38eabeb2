// #region page

import { createClient } from "@workspace-tasks/sdk";
import { connection } from "next/server";

export default async function Page() {
  await connection(); // at each request, not at the build
  await using client = createClient({
    baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010",
    apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
  });
  const me = await client.me();
  return <h1>{me.__typename === "WorkspaceUser" ? me.workspace.name : "not a workspace"}</h1>;
}
// #endregion
