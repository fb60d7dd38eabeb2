import type { MockServer } from "workspace-tasks/mock-server";
import type { Route } from "../../mock-server/control/route.ts";
import { routes } from "../../mock-server/control/routes.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Loose = any;

export type ControlAnswer = { readonly status: number; readonly json: Loose };

/**
 * Calls the control API in this process. A successful answer is checked against the schema that its route
 * publishes, field for field, so the OpenAPI document cannot promise what is not there or hide what is.
 */
export async function callControl(
  mock: MockServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<ControlAnswer> {
  const response = await mock.fetch(`/_mock/v1/${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = text === "" ? undefined : JSON.parse(text);
  const route = routes.find((candidate) => candidate.method === method && answersAt(candidate, path));
  if (response.ok && route) checkAnswer(route, response.status, json);
  return { status: response.status, json };
}

function checkAnswer(route: Route, status: number, json: unknown): void {
  if (status !== route.status)
    throw new Error(`${route.path} answered ${status}, it promises ${route.status}`);
  if (!route.answer) return;
  const parsed = route.answer.parse(json);
  const extra = JSON.stringify(parsed) !== JSON.stringify(json);
  if (extra && sortedJson(parsed) !== sortedJson(json)) {
    throw new Error(
      `${route.path} answers with fields that its schema does not have: ${JSON.stringify(json)}`,
    );
  }
}

const answersAt = ({ path }: Route, called: string) =>
  new RegExp(`^${path.replace(/\{[^}]+\}/g, "[^/]+")}$`).test(`/${called.split("?")[0]}`);

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    item && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** Sends one GraphQL request in this process and gives `data`; throws when there are errors. */
export async function callGraphql(
  mock: MockServer,
  query: string,
  {
    token,
    router = "base",
    variables,
  }: { token?: string; router?: "base" | "gateway"; variables?: object } = {},
): Promise<Loose> {
  const response = await mock.fetch(router === "base" ? "/graphql" : "/gateway/graphql", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const answer = (await response.json()) as { readonly data: Loose; readonly errors?: unknown };
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

export async function workspaceToken(mock: MockServer, apiKey = mock.apiKey): Promise<string> {
  const data = await callGraphql(
    mock,
    "mutation ($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }",
    { variables: { key: apiKey } },
  );
  return data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;
}

/** Registers a webhook endpoint of the first workspace. */
export async function createEndpoint(
  mock: MockServer,
  url: string,
  eventTypes: readonly string[] | null = null,
): Promise<{ endpointId: string; signingSecret: string }> {
  const data = await callGraphql(
    mock,
    `mutation ($input: CreateWebhookEndpointInput!) {
      createWebhookEndpoint(input: $input) { endpoint { id } signingSecret }
    }`,
    { token: await workspaceToken(mock), variables: { input: { url, eventTypes } } },
  );
  const { endpoint, signingSecret } = data.createWebhookEndpoint;
  return { endpointId: endpoint.id, signingSecret };
}

/** Begins a provider connection of the first workspace. */
export async function startConnection(mock: MockServer): Promise<string> {
  const data = await callGraphql(
    mock,
    `mutation ($workspaceId: ID!) { startProviderConnection(workspaceId: $workspaceId, providerKey: "drive") { id } }`,
    { token: await workspaceToken(mock), router: "gateway", variables: { workspaceId: mock.workspaceId } },
  );
  return data.startProviderConnection.id;
}
