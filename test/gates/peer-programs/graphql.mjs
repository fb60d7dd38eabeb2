// Sends a document that graphql has parsed.
import assert from "node:assert/strict";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { parse } from "graphql";

const mock = await createMockServer();
const client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
const document = parse("query Me { me { __typename } }");
assert.deepEqual(await client.request(document), { me: { __typename: "WorkspaceUser" } });
await client.close();
await mock.close();
