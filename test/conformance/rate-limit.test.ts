import { describe, expect } from "vitest";
import { exchangeDocument, type GraphqlResponse, it, mockTest, useService } from "./harness.ts";

const service = useService();
const fixed = useService({ settings: { rateLimit: { window: "fixed" } } });

const me = (token: string, router: "base" | "gateway" = "base", on = service) =>
  on.graphql("{ me { __typename } }", {}, { token, router });

/** Calls until the allowance of 120 is used up; every one of them must succeed. */
async function useUp(token: string, requests = 120, on = service): Promise<void> {
  for (let made = 0; made < requests; made++) {
    const response = await me(token, "base", on);
    if (response.status !== 200) throw new Error(`request ${made + 1} of ${requests} got ${response.status}`);
  }
}

async function freshToken(on = service): Promise<string> {
  const { apiKey } = await on.key();
  return (await on.tokens(apiKey)).workspaceToken;
}

function expectLimited(response: GraphqlResponse): number {
  expect(response.status).toBe(429);
  expect(response.errors?.[0]?.extensions?.code).toBe("RATE_LIMITED");
  expect(response.data ?? null).toBeNull();
  const retryAfter = response.headers.get("retry-after") ?? "";
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  return Number(retryAfter);
}

describe("L1 the limit", () => {
  mockTest("L1 the 121st request gets a 429 with Retry-After and RATE_LIMITED", async () => {
    const token = await freshToken();
    await useUp(token);
    expect(expectLimited(await me(token))).toBe(60);
  });

  mockTest("L1 mutations and invalid documents are counted", async () => {
    const token = await freshToken();
    await service.graphql("{ nothing }", {}, { token });
    await service.graphql('mutation { deleteWebhookEndpoint(endpointId: "x") }', {}, { token });
    await useUp(token, 118);
    expectLimited(await me(token));
  });

  mockTest("L1 a rejected mutation has no effect", async () => {
    const token = await freshToken();
    await useUp(token);
    const create = await service.graphql(
      'mutation { createWebhookEndpoint(input: { url: "https://limited.example" }) { endpoint { id } } }',
      {},
      { token },
    );
    expectLimited(create);
    await service.advance("60s");
    const list = await service.graphql(
      "{ me { ... on WorkspaceUser { workspace { webhookEndpoints(limit: 100) { data { url } } } } } }",
      {},
      { token },
    );
    expect(list.text).not.toContain("limited.example");
  });
});

describe("L2 one count per key", () => {
  mockTest("L2 all tokens of a key share the count", async () => {
    const { apiKey } = await service.key();
    const first = await service.tokens(apiKey);
    const second = await service.tokens(apiKey);
    await useUp(first.workspaceToken, 60);
    await useUp(second.workspaceToken, 60);
    expectLimited(await me(first.workspaceToken));
    expectLimited(await me(second.workspaceToken));
  });

  mockTest("L2 both routers share the count", async () => {
    const token = await freshToken();
    await useUp(token, 119);
    expect((await me(token, "gateway")).status).toBe(200);
    expectLimited(await me(token, "gateway"));
    expectLimited(await me(token, "base"));
  });

  mockTest("L2 gateway calls of a partner are counted for the partner key", async () => {
    const { partnerApiKey } = await service.control.createPartnerKey();
    const token = await service.partnerToken(partnerApiKey);
    for (let made = 0; made < 120; made++) expect((await me(token, "gateway")).status).toBe(200);
    expectLimited(await me(token, "gateway"));
  });
});

describe("L3 what is not counted", () => {
  mockTest("L3 the exchange is not counted, even with a token", async () => {
    const { apiKey } = await service.key();
    const { workspaceToken: token } = await service.tokens(apiKey);
    await useUp(token);
    for (const bearer of [null, token]) {
      const response = await service.graphql(exchangeDocument, { apiKey }, { token: bearer });
      expect(response.status).toBe(200);
      expect(response.errors).toBeUndefined();
    }
    // A partner's login neither.
    const login = await service.graphql(
      'mutation { loginViaPersonalApiToken(token: "x") { accessToken } }',
      {},
      { token, router: "gateway" },
    );
    expect(login.status).toBe(200);
  });

  mockTest("L3 an exchange together with another operation is counted", async () => {
    const { apiKey } = await service.key();
    const { workspaceToken: token } = await service.tokens(apiKey);
    await useUp(token);
    const query = `mutation ($apiKey: String!) {
      exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $apiKey) { userToken }
      deleteWebhookEndpoint(endpointId: "x")
    }`;
    expectLimited(await service.graphql(query, { apiKey }, { token }));
  });

  it("L3 the catalog without a token is not counted", async () => {
    for (let made = 0; made < 130; made++) {
      const response = await service.graphql("{ webhookEventCatalog { name } }", {}, { token: null });
      expect(response.status).toBe(200);
    }
  });

  mockTest("L3 uploads are not counted", async () => {
    const token = await freshToken();
    await useUp(token);
    const response = await fetch(`${service.baseUrl}/api/uploads`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "tus-resumable": "1.0.0",
        "upload-length": "3",
      },
    });
    expect(response.status).toBe(201);
    expectLimited(await me(token));
  });
});

describe("L4 waiting", () => {
  mockTest("L4 a request succeeds after the interval in Retry-After", async () => {
    const token = await freshToken();
    await useUp(token);
    const retryAfter = expectLimited(await me(token));
    await service.advance((retryAfter - 1) * 1_000);
    expect(expectLimited(await me(token))).toBe(1);
    await service.advance(1_000);
    expect((await me(token)).status).toBe(200);
  });

  mockTest("L4 rejected requests do not lengthen the wait", async () => {
    const token = await freshToken();
    await useUp(token);
    for (let second = 0; second < 59; second++) {
      await service.advance("1s");
      expect(expectLimited(await me(token))).toBe(59 - second);
    }
    await service.advance("1s");
    expect((await me(token)).status).toBe(200);
  });

  mockTest("L4 the window slides: the oldest request leaves it first", async () => {
    const token = await freshToken();
    await useUp(token, 60);
    await service.advance("30s");
    await useUp(token, 60);
    expect(expectLimited(await me(token))).toBe(30);
    await service.advance("30s");
    await useUp(token, 60);
    expectLimited(await me(token));
  });

  mockTest("L4 a request succeeds after the interval in Retry-After with a fixed window", async () => {
    const token = await freshToken(fixed);
    await fixed.advance("45s");
    await useUp(token, 120, fixed);
    const retryAfter = expectLimited(await me(token, "base", fixed));
    expect(retryAfter).toBe(15);
    await fixed.advance(retryAfter * 1_000);
    await useUp(token, 120, fixed);
    expect(expectLimited(await me(token, "base", fixed))).toBe(60);
  });
});

describe("L5 separate keys", () => {
  mockTest("L5 a key at its limit does not affect another key of the workspace", async () => {
    const [first, second] = [await freshToken(), await freshToken()];
    await useUp(first);
    expectLimited(await me(first));
    await useUp(second);
    expectLimited(await me(second));
  });

  mockTest("L5 two keys of one user do not share a count", async () => {
    const first = await service.key();
    const second = await service.control.createApiKey({ userId: first.userId });
    const tokens = await Promise.all([service.tokens(first.apiKey), service.tokens(second.apiKey)]);
    await useUp(tokens[0].workspaceToken);
    expect((await me(tokens[1].workspaceToken)).status).toBe(200);
  });
});
