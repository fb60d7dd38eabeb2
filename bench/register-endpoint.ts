import type { MockServer } from "workspace-tasks/mock-server";

/** Subscribes a URL to every event of the mock's first workspace. */
export async function registerEndpoint(mock: MockServer, url: string): Promise<void> {
  const call = async (query: string, variables: object, token?: string) => {
    const response = await mock.fetch("/graphql", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as { data: Record<string, { workspaceToken: string }> };
  };
  const exchange = `mutation ($key: String!) {
    exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken }
  }`;
  const { data } = await call(exchange, { key: mock.apiKey });
  const create = "mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { signingSecret } }";
  await call(create, { url }, data["exchangeSurfaceRefreshTokenForAccessTokens"]?.workspaceToken);
}
