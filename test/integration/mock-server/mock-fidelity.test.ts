import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { mockHandlers } from "@workspace-tasks/mock-server/msw";
import { setupServer } from "msw/node";
import { expect, it } from "vitest";

type Send = (path: string, init: RequestInit) => Promise<Response>;

const exchange = `mutation ($key: String!) {
  exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken userToken }
}`;

/** Valid and invalid requests that depend only on the responses. */
async function walk(mock: MockServer, send: Send): Promise<string[]> {
  const answers: string[] = [];
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    answers.push(`${response.status} ${response.headers.get("content-type")} ${text}`);
    return JSON.parse(text);
  };
  const { data } = await post("/graphql", { query: exchange, variables: { key: mock.apiKey } });
  const bearer = {
    authorization: `Bearer ${data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken}`,
  };
  await post(
    "/graphql",
    { query: "{ me { __typename ... on WorkspaceUser { id workspace { id } } } }" },
    bearer,
  );
  await post("/graphql", { query: "{ me { __typename } }" });
  await post("/graphql", { query: "{ nonsense }" }, bearer);
  await post("/graphql", "{ not json");
  await post("/graphql", { query: "{ __schema { types { name } } }" }, bearer);
  const create = `mutation ($input: CreateWebhookEndpointInput!) {
    createWebhookEndpoint(input: $input) { endpoint { id createdAt } signingSecret }
  }`;
  await post(
    "/graphql",
    { query: create, variables: { input: { url: "https://example.com/ünïcode" } } },
    bearer,
  );
  await post("/graphql", { query: create, variables: { input: { url: "ftp://example.com" } } }, bearer);
  const start = `mutation ($id: ID!) {
    startProviderConnection(workspaceId: $id, providerKey: "drive", inputs: { apiKey: "k" }) { id status }
  }`;
  const headers = { ...bearer, "source-platform": "fidelity" };
  await post("/gateway/graphql", { query: start, variables: { id: mock.workspaceId } }, headers);
  await post("/gateway/graphql", { query: "mutation { nothing }" }, headers);
  await mock.clock.advance("4m");
  await post("/graphql", { query: "{ me { __typename } }" }, bearer);
  return answers;
}

const journalOf = async (mock: MockServer) =>
  JSON.stringify(await mock.control.listRequests({ limit: 1_000 }));

async function run(way: "http" | "fetch" | "msw"): Promise<{ journal: string; answers: string[] }> {
  await using mock = await createMockServer({ clock: "virtual", seed: 5, listen: way === "http" });
  if (way === "http") {
    const answers = await walk(mock, (path, init) => fetch(`${mock.baseUrl}${path}`, init));
    return { answers, journal: await journalOf(mock) };
  }
  if (way === "fetch") return { answers: await walk(mock, mock.fetch), journal: await journalOf(mock) };
  const msw = setupServer(...mockHandlers(mock));
  msw.listen({ onUnhandledRequest: "error" });
  try {
    const answers = await walk(mock, (path, init) => fetch(`${mock.baseUrl}${path}`, init));
    return { answers, journal: await journalOf(mock) };
  } finally {
    msw.close();
  }
}

it("a mock returns byte-identical responses and journals for equal seeds and requests over HTTP, fetch and MSW", async () => {
  const overHttp = await run("http");
  expect(JSON.parse(overHttp.journal).data).toHaveLength(11);
  expect(await run("fetch")).toEqual(overHttp);
  expect(await run("msw")).toEqual(overHttp);
  expect(await run("http")).toEqual(overHttp);
});
