import { describe, expect, it } from "vitest";
import { exchangeDocument, type GraphqlResponse, useService } from "./harness.ts";

// The documented limit is 120. What does not depend on the number has a smaller one, which is reached with fewer requests.
const limit = 12;
const documented = useService();
const service = useService({ settings: { rateLimit: { requests: limit } } });
const fixed = useService({ settings: { rateLimit: { requests: limit, window: "fixed" } } });

const me = (token: string, router: "base" | "gateway" = "base", on = service) =>
  on.graphql("{ me { __typename } }", {}, { token, router });

/** Calls until the allowance is used up; every one of them must succeed. */
async function useUp(token: string, requests = limit, on = service): Promise<void> {
  for (let made = 0; made < requests; made++) {
    const response = await me(token, "base", on);
    if (response.status !== 200) throw new Error(`request ${made + 1} of ${requests} got ${response.status}`);
  }
}

async function freshToken(on = service): Promise<string> {
  const { apiKey } = await on.key();
  return (await on.tokens(apiKey)).workspaceToken;
}

async function usedUpToken(): Promise<string> {
  const token = await freshToken();
  await useUp(token);
  return token;
}

/** Returns the seconds of Retry-After. */
function expectLimited(response: GraphqlResponse): number {
  expect([response.status, response.code, response.data ?? null]).toEqual([429, "RATE_LIMITED", null]);
  const retryAfter = response.headers.get("retry-after") ?? "";
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  return Number(retryAfter);
}

describe("L1 the limit", () => {
  it("L1 the 121st request gets a 429 with Retry-After and RATE_LIMITED", async () => {
    const token = await freshToken(documented);
    await useUp(token, 120, documented);
    expect(expectLimited(await me(token, "base", documented))).toBe(60);
  });

  it("L1 mutations and invalid documents are counted", async () => {
    const token = await freshToken();
    await service.graphql("{ nothing }", {}, { token });
    await service.graphql('mutation { deleteWebhookEndpoint(endpointId: "x") }', {}, { token });
    await useUp(token, limit - 2);
    expectLimited(await me(token));
  });

  it("L1 a rejected mutation has no effect", async () => {
    const token = await usedUpToken();
    const create = await service.graphql(
      'mutation { createWebhookEndpoint(input: { url: "https://limited.example" }) { endpoint { id } } }',
      {},
      { token },
    );
    expectLimited(create);
    const { data } = await service.control.listEndpoints();
    expect(data.map(({ url }) => url)).not.toContain("https://limited.example");
  });
});

describe("L2 one count per key", () => {
  it("L2 all tokens of a key share the count", async () => {
    const { apiKey } = await service.key();
    const [first, second] = [await service.tokens(apiKey), await service.tokens(apiKey)];
    await useUp(first.workspaceToken, limit / 2);
    await useUp(second.workspaceToken, limit / 2);
    expectLimited(await me(first.workspaceToken));
    expectLimited(await me(second.workspaceToken));
  });

  it("L2 both routers share the count", async () => {
    const token = await freshToken();
    await useUp(token, limit - 1);
    expect((await me(token, "gateway")).status).toBe(200);
    expectLimited(await me(token, "gateway"));
    expectLimited(await me(token, "base"));
  });

  it("L2 gateway calls of a partner are counted for the partner key", async () => {
    const { partnerApiKey } = await service.control.createPartnerKey();
    const token = await service.partnerToken(partnerApiKey);
    for (let made = 0; made < limit; made++) expect((await me(token, "gateway")).status).toBe(200);
    expectLimited(await me(token, "gateway"));
  });
});

describe("L3 what is not counted", () => {
  it("L3 the exchange is not counted, even with a token, and a partner's login neither", async () => {
    const { apiKey } = await service.key();
    const { workspaceToken: token } = await service.tokens(apiKey);
    await useUp(token);
    for (const bearer of [null, token]) {
      const response = await service.graphql(exchangeDocument, { apiKey }, { token: bearer });
      expect([response.status, response.errors]).toEqual([200, undefined]);
    }
    const login = 'mutation { loginViaPersonalApiToken(token: "x") { accessToken } }';
    expect((await service.graphql(login, {}, { token, router: "gateway" })).status).toBe(200);
  });

  it("L3 an exchange together with another operation is counted", async () => {
    const query = `mutation {
      exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "x") { userToken }
      deleteWebhookEndpoint(endpointId: "x")
    }`;
    expectLimited(await service.graphql(query, {}, { token: await usedUpToken() }));
  });

  it("L3 the catalog without a token is not counted", async () => {
    for (let made = 0; made < 130; made++) {
      const response = await service.graphql("{ webhookEventCatalog { name } }", {}, { token: null });
      expect(response.status).toBe(200);
    }
  });

  it("L3 the catalog with a token is counted", async () => {
    const token = await usedUpToken();
    expectLimited(await service.graphql("{ webhookEventCatalog { name } }", {}, { token }));
  });

  it("L3 calls with a userToken are not counted", async () => {
    const { userToken } = await service.tokens((await service.key()).apiKey);
    await useUp(userToken, limit + 1);
  });

  it("L3 uploads are not counted", async () => {
    const token = await usedUpToken();
    const headers = { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0", "upload-length": "3" };
    const response = await fetch(`${service.baseUrl}/api/uploads`, { method: "POST", headers });
    expect(response.status).toBe(201);
    expectLimited(await me(token));
  });
});

describe("L4 waiting", () => {
  it("L4 a request succeeds after the interval, which rejected requests do not lengthen", async () => {
    const token = await usedUpToken();
    for (let second = 0; second < 60; second++) {
      expect(expectLimited(await me(token))).toBe(60 - second);
      await service.advance("1s");
    }
    expect((await me(token)).status).toBe(200);
  });

  it("L4 a request succeeds after the interval in Retry-After with a fixed window", async () => {
    const token = await freshToken(fixed);
    await fixed.advance("45s");
    await useUp(token, limit, fixed);
    const retryAfter = expectLimited(await me(token, "base", fixed));
    expect(retryAfter).toBe(15);
    await fixed.advance(retryAfter * 1_000);
    await useUp(token, limit, fixed);
    expect(expectLimited(await me(token, "base", fixed))).toBe(60);
  });
});

it("L5 two keys of one user do not share a count", async () => {
  const first = await service.key();
  const second = await service.control.createApiKey({ userId: first.userId });
  const tokens = await Promise.all([service.tokens(first.apiKey), service.tokens(second.apiKey)]);
  await useUp(tokens[0].workspaceToken);
  expectLimited(await me(tokens[0].workspaceToken));
  expect((await me(tokens[1].workspaceToken)).status).toBe(200);
});
