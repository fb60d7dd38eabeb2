import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { buildSchema } from "graphql";
import { createHandler } from "graphql-http/lib/use/fetch";
import type { CreateContender } from "../alternate.ts";

const url = "http://service.localhost/graphql";
const body = JSON.stringify({ query: "query Me { me { __typename ... on WorkspaceUser { id role } } }" });

type Handle = (request: Request) => Promise<Response>;

/** One query without a socket. graphql-http returns a fixed object; the mock also checks the token. */
export const createContender: CreateContender = async (name) => {
  const mock = await createMockServer({
    listen: false,
    settings: { rateLimit: { requests: 1_000_000_000 } },
  });
  const { workspaceToken } = await mock.control.createTokens();
  const handle: Handle = name === "this mock" ? mock.fetch : graphqlHttp();
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    authorization: `Bearer ${workspaceToken}`,
  };
  return async (count) => {
    for (let done = 0; done < count; done++) {
      const response = await handle(new Request(url, { method: "POST", headers, body }));
      const text = await response.text();
      if (!text.includes("WorkspaceUser")) throw new Error(`unexpected response: ${text}`);
    }
  };
};

function graphqlHttp(): Handle {
  const file = join(import.meta.dirname, "../../../schema.graphql");
  const me = { __typename: "WorkspaceUser", id: "membership-1", role: "admin" };
  return createHandler({ schema: buildSchema(readFileSync(file, "utf8")), rootValue: { me } });
}
