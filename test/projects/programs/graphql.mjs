// Sends a document that graphql has parsed.
import assert from "node:assert/strict";
import { createClient } from "@workspace-tasks/sdk";
import { parse } from "graphql";

const { WORKSPACE_TASKS_BASE_URL: baseUrl, WORKSPACE_TASKS_API_KEY: apiKey } = process.env;
const client = createClient({ baseUrl, apiKey });
const document = parse("query Me { me { __typename } }");
assert.deepEqual(await client.request(document), { me: { __typename: "WorkspaceUser" } });
await client.close();
