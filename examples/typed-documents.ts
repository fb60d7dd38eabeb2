// Sends a document of its own, with types from graphql-codegen's client preset.

// #region typed-document
import { createClient } from "@workspace-tasks/sdk";
import { graphql } from "./typed-documents/generated/index.ts";

const clientNames = graphql(`
  query ClientNames($limit: Int!) {
    me {
      __typename
      ... on WorkspaceUser {
        workspace {
          clients(limit: $limit) {
            name
            returnType
          }
        }
      }
    }
  }
`);

const client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
});

// A variable that is missing, unknown or of another type is a compile error.
const { me } = await client.request(clientNames, { limit: 10 });
const clients = me?.__typename === "WorkspaceUser" ? me.workspace.clients : [];
for (const { name, returnType } of clients) console.log(`${name}: ${returnType}`);
// #endregion
console.log(`${clients.length} clients`);
await client.close();
