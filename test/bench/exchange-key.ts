type Post = (
  url: string,
  init: { method: string; headers: Record<string, string>; body: string },
) => Promise<Response>;

/** Exchanges an API key for a workspace token, as a hand-written client does. */
export async function exchangeKey(fetch: Post, url: string, apiKey: string): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      operationName: "ExchangeApiKey",
      query: `mutation ExchangeApiKey($refreshToken: String!) {
        exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $refreshToken) { workspaceToken }
      }`,
      variables: { refreshToken: apiKey },
    }),
  });
  const { data } = (await response.json()) as {
    data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: string } };
  };
  return data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;
}
