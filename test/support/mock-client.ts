import { type ControlApi, createControlClient, type MockServer } from "@workspace-tasks/mock-server";
import { contract } from "../../mock-server/control/contract.ts";
import { methodOf, pathOf, type Route } from "../../mock-server/control/route.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
type Loose = any;

/**
 * The control API of a mock over HTTP, in this process. Every successful response is checked against the schema in
 * the contract, field for field, so the OpenAPI document can neither promise what is missing nor hide what is there.
 */
export function checkedControlClient(mock: MockServer): ControlApi {
  return createControlClient({
    baseUrl: mock.baseUrl,
    async fetch(url, init) {
      const response = await mock.fetch(url, init);
      if (response.ok) await checkResponse(init.method ?? "GET", url.pathname, response.clone());
      return response;
    },
  });
}

async function checkResponse(method: string, pathname: string, response: Response): Promise<void> {
  const route = Object.values<Route>(contract).find(
    (candidate) =>
      methodOf(candidate) === method &&
      new RegExp(`^/_mock/v1${pathOf(candidate).replace(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  if (response.status !== route?.status)
    throw new Error(`${method} ${pathname} responded with ${response.status}, not with ${route?.status}`);
  if (!route.response) return;
  const json: unknown = await response.json();
  if (sortedJson(route.response.parse(json)) !== sortedJson(json))
    throw new Error(
      `${route.call} responds with fields that its schema does not have: ${JSON.stringify(json)}`,
    );
}

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    item && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** Sends one GraphQL request in this process and returns `data`; throws when there are errors. */
export async function callGraphql(
  mock: MockServer,
  query: string,
  {
    token,
    router = "base",
    variables,
  }: { token?: string; router?: "base" | "gateway"; variables?: object } = {},
): Promise<Loose> {
  const path = router === "base" ? "/graphql" : "/gateway/graphql";
  const response = await mock.fetch(path, jsonPost({ query, variables }, token));
  const { data, errors } = (await response.json()) as { readonly data: Loose; readonly errors?: unknown };
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

/** Exchanges the API key as a client does, with an entry in the journal of requests. */
export const exchangeApiKey = (mock: MockServer): Promise<Loose> =>
  callGraphql(
    mock,
    "mutation ($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }",
    { variables: { key: mock.apiKey } },
  );

export async function workspaceToken(mock: MockServer, apiKey?: string): Promise<string> {
  return (await mock.control.createTokens({ apiKey })).workspaceToken;
}

/** Starts a provider connection of the first workspace. */
export async function startConnection(mock: MockServer): Promise<string> {
  const data = await callGraphql(
    mock,
    `mutation ($workspaceId: ID!) { startProviderConnection(workspaceId: $workspaceId, providerKey: "drive") { id } }`,
    { token: await workspaceToken(mock), router: "gateway", variables: { workspaceId: mock.workspaceId } },
  );
  return data.startProviderConnection.id;
}

/** A POST as `fetch` takes it, with `body` as JSON; a text is sent as it is. */
export const jsonPost = (body: object | string, token?: string) => ({
  method: "POST",
  headers: {
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
