import { CommandError } from "../../cli/command-error.ts";
import type { MockServer } from "../server.ts";

type Answer<Data> = { readonly data?: Data; readonly errors?: readonly { readonly message: string }[] };

/**
 * Registers a webhook endpoint of the first workspace for every event, the way a partner would, unless a
 * restored state has it already. Gives its signing secret.
 */
export async function registerReceiver(mock: MockServer, url: string): Promise<string> {
  const known = mock.admin.endpoints().find((endpoint) => endpoint.url === url);
  if (known) return mock.admin.endpointSecrets(known.id)[0]?.secret ?? "";
  const { exchangeSurfaceRefreshTokenForAccessTokens: tokens } = await ask<{
    exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: string };
  }>(
    mock,
    "mutation ($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }",
    { key: mock.apiKey },
  );
  const { createWebhookEndpoint } = await ask<{ createWebhookEndpoint: { signingSecret: string } }>(
    mock,
    "mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { signingSecret } }",
    { url },
    tokens.workspaceToken,
  );
  return createWebhookEndpoint.signingSecret;
}

async function ask<Data>(
  mock: MockServer,
  query: string,
  variables: Readonly<Record<string, string>>,
  token?: string,
): Promise<Data> {
  const response = await mock.fetch("/graphql", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as Answer<Data>;
  if (data === undefined || errors) throw new CommandError(errors?.[0]?.message ?? "the mock did not answer");
  return data;
}
