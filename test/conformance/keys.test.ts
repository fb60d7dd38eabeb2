import { describe, expect } from "vitest";
import { exchangeDocument, it, mockTest, useService } from "./harness.ts";

const service = useService();

const meQuery =
  "{ me { __typename ... on WorkspaceUser { id role user { id } workspace { id } } ... on User { id } } }";
const createMutation =
  'mutation { createWebhookEndpoint(input: { url: "https://hooks.example.com/in" }) { endpoint { id } } }';

const exchange = (apiKey: string, expiresInSeconds?: number) =>
  service.graphql(exchangeDocument, { apiKey, expiresInSeconds }, { token: null });
const me = (token: string | null) => service.graphql(meQuery, {}, { token });

function payloadOf(token: string) {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}

describe("K1 exchange", () => {
  it("K1 an API key is exchanged for both tokens without a Bearer header", async () => {
    const response = await exchange(service.apiKey);
    expect(response.errors).toBeUndefined();
    expect(response.data.exchangeSurfaceRefreshTokenForAccessTokens).toEqual({
      userToken: expect.any(String),
      workspaceToken: expect.any(String),
    });
  });

  mockTest("K1 the workspaceToken is a JWT with its workspace and its expiry", async () => {
    const { workspaceToken, userToken } = await service.tokens();
    expect(payloadOf(workspaceToken)).toMatchObject({
      workspaceId: service.workspaceId,
      exp: expect.any(Number),
    });
    expect(payloadOf(userToken).workspaceId).toBeUndefined();
  });
});

describe("K2 lifetime", () => {
  mockTest("K2 tokens expire after exactly 180 seconds", async () => {
    const { workspaceToken, userToken } = await service.tokens();
    await service.advance("179s");
    expect((await me(workspaceToken)).errors).toBeUndefined();
    expect((await me(userToken)).errors).toBeUndefined();
    await service.advance("1s");
    expect((await me(workspaceToken)).errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
    expect((await me(userToken)).errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });

  mockTest("K2 a shorter lifetime is respected", async () => {
    const { workspaceToken } = await service.tokens(service.apiKey, 5);
    await service.advance("4s");
    expect((await me(workspaceToken)).errors).toBeUndefined();
    await service.advance("1s");
    expect((await me(workspaceToken)).errors).toHaveLength(1);
  });

  mockTest("K2 a longer lifetime is clamped to 180 seconds", async () => {
    const { workspaceToken } = await service.tokens(service.apiKey, 3_600);
    await service.advance("179s");
    expect((await me(workspaceToken)).errors).toBeUndefined();
    await service.advance("1s");
    expect((await me(workspaceToken)).errors).toHaveLength(1);
  });

  mockTest("K2 tokens issued within a second expire after exactly 180 seconds too", async () => {
    await service.advance(437);
    for (const [expiresInSeconds, lifetimeMs] of [
      [undefined, 180_000],
      [999, 180_000],
      [1, 1_000],
    ] as const) {
      const { workspaceToken } = await service.tokens(service.apiKey, expiresInSeconds);
      const nowMs = Date.parse((await service.control.getClock()).now);
      const { iat, exp } = payloadOf(workspaceToken);
      expect(iat).toBe(Math.floor(nowMs / 1_000));
      expect(exp).toBe(Math.floor((nowMs + lifetimeMs) / 1_000));
      await service.advance(lifetimeMs - 1);
      expect((await me(workspaceToken)).errors).toBeUndefined();
      await service.advance(1);
      expect((await me(workspaceToken)).errors).toHaveLength(1);
    }
  });

  it.each([0, -1])("K2 a lifetime of %i seconds is rejected", async (expiresInSeconds) => {
    const response = await exchange(service.apiKey, expiresInSeconds);
    expect(response.data ?? null).toBeNull();
    expect(response.errors?.[0]?.extensions?.code).toBe("BAD_USER_INPUT");
  });
});

describe("K3 refresh", () => {
  mockTest("K3 a key is exchanged for new tokens after the old ones expired", async () => {
    const { workspaceToken } = await service.tokens();
    await service.advance("3m");
    expect((await me(workspaceToken)).errors).toHaveLength(1);
    const again = await service.tokens();
    expect((await me(again.workspaceToken)).errors).toBeUndefined();
  });

  mockTest("K3 an earlier exchange's tokens keep their own expiry", async () => {
    const first = await service.tokens();
    await service.advance("100s");
    const second = await service.tokens();
    expect((await me(first.workspaceToken)).errors).toBeUndefined();
    await service.advance("80s");
    expect((await me(first.workspaceToken)).errors).toHaveLength(1);
    expect((await me(second.workspaceToken)).errors).toBeUndefined();
  });
});

describe("K4 failed exchange", () => {
  it("K4 a wrong key returns an error and no tokens", async () => {
    const response = await exchange("not-a-key");
    expect(response.data ?? null).toBeNull();
    expect(response.errors?.[0]).toMatchObject({
      message: "Invalid refresh token",
      extensions: { code: "UNAUTHENTICATED" },
    });
    expect(response.text).not.toContain('workspaceToken":"');
  });

  it.each(["", "Bearer", "a.b.c", "x".repeat(8_000)])(
    "K4 a token that the service never issued is rejected (%#)",
    async (token) => {
      const response = await me(token);
      expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
    },
  );

  mockTest("K4 a token with a changed payload is rejected", async () => {
    const { workspaceToken } = await service.tokens();
    const [header, , signature] = workspaceToken.split(".");
    const claims = { ...payloadOf(workspaceToken), exp: 9_999_999_999 };
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    expect((await me(`${header}.${payload}.${signature}`)).errors).toHaveLength(1);
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url");
    expect((await me(`${none}.${payload}.`)).errors).toHaveLength(1);
  });
});

describe("K6 membership", () => {
  mockTest("K6 tokens act as the key's user in the key's workspace", async () => {
    const key = await service.key({ role: "l2" });
    const { workspaceToken } = await service.tokens(key.apiKey);
    expect((await me(workspaceToken)).data.me).toEqual({
      __typename: "WorkspaceUser",
      id: key.membershipId,
      role: "l2",
      user: { id: key.userId },
      workspace: { id: key.workspaceId },
    });
  });

  mockTest("K6 a changed role applies to valid tokens at once", async () => {
    const key = await service.key({ role: "admin" });
    const { workspaceToken: token } = await service.tokens(key.apiKey);
    expect((await service.graphql(createMutation, {}, { token })).errors).toBeUndefined();
    await service.control.updateMembership(key.membershipId, { role: "l1" });
    expect((await service.graphql(createMutation, {}, { token })).errors?.[0]?.message).toBe("Unauthorized");
    await service.control.updateMembership(key.membershipId, { role: "admin" });
    expect((await service.graphql(createMutation, {}, { token })).errors).toBeUndefined();
  });

  mockTest("K6 a removed member's valid token and key are rejected", async () => {
    const key = await service.key();
    const { workspaceToken, userToken } = await service.tokens(key.apiKey);
    await service.control.removeMembership(key.membershipId);
    expect((await me(workspaceToken)).errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
    expect((await exchange(key.apiKey)).errors?.[0]?.message).toBe("Invalid refresh token");
    // The account itself is still there.
    expect((await me(userToken)).data.me).toEqual({ __typename: "User", id: key.userId });
  });

  mockTest("K6 the tokens of a revoked key stay valid until they expire", async () => {
    const key = await service.key();
    const { workspaceToken } = await service.tokens(key.apiKey);
    await service.control.revokeApiKey(key.id);
    expect((await me(workspaceToken)).errors).toBeUndefined();
    await service.advance("3m");
    expect((await me(workspaceToken)).errors).toHaveLength(1);
  });
});

describe("K7 read_only", () => {
  const mutations = [
    createMutation,
    'mutation { updateWebhookEndpoint(input: { endpointId: "x", url: "https://a.example" }) { id } }',
    'mutation { deleteWebhookEndpoint(endpointId: "x") }',
    'mutation { rotateWebhookEndpointSecret(input: { endpointId: "x" }) { signingSecret } }',
    'mutation { createClient(input: { name: "a", externalId: "a", returnType: "F1040", taxYear: 2025 }) { taskId } }',
    'mutation { addClientDocuments(input: { clientId: "x", uploadIds: ["x"] }) { taskId } }',
    'mutation { triggerTaxPrep(input: { clientId: "x", returnType: "F1040" }) { taskId } }',
  ];
  const gatewayMutations = [
    'mutation { createWorkspace(input: { displayName: "x" }) { id } }',
    'mutation { addUsersToTheWorkspace(workspaceId: "x", userEmails: ["a@b.example"]) { id } }',
    'mutation { startProviderConnection(workspaceId: "x", providerKey: "p") { id } }',
    'mutation { collectProviderConnection(connectionId: "x") { id } }',
    'mutation { createConnectionJob(connectionId: "x", jobName: "x") { id } }',
    'mutation { createJobWorks(connectionJobId: "x", inputs: []) { id } }',
    'mutation { createJobWorkArtifacts(jobWorkId: "x", inputs: []) { id } }',
    'mutation { initiateTaxPrepsImport(connectionJobId: "x") { id } }',
  ];
  const cases = [
    ...mutations.map((query) => ({ router: "base" as const, query })),
    ...gatewayMutations.map((query) => ({ router: "gateway" as const, query })),
  ];

  mockTest.each(cases)("K7 a read_only key is rejected with FORBIDDEN: $query", async ({ router, query }) => {
    const { apiKey } = await service.key({ access: "read_only", role: "admin" });
    const { workspaceToken: token } = await service.tokens(apiKey);
    const response = await service.graphql(query, {}, { token, router });
    expect(response.errors?.[0]).toMatchObject({
      message: "Unauthorized",
      extensions: { code: "FORBIDDEN" },
    });
  });

  mockTest("K7 a read_only key may query", async () => {
    const { apiKey } = await service.key({ access: "read_only" });
    const { workspaceToken: token } = await service.tokens(apiKey);
    const response = await service.graphql(
      "{ me { ... on WorkspaceUser { role workspace { name clients { id } tasks { id } } } } webhookEventCatalog { name } }",
      {},
      { token },
    );
    expect(response.errors).toBeUndefined();
    expect(response.data.me.role).toBe("admin");
  });
});

describe("K8 shown once", () => {
  mockTest("K8 only the response to its creation contains a key", async () => {
    const { apiKey, id } = await service.key();
    await service.tokens(apiKey);
    // Also not when it stands in the document itself, or in a document that cannot be parsed.
    await service.graphql(
      `mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "${apiKey}") { userToken } }`,
    );
    await service.graphql(`mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "${apiKey}"`);
    await service.graphql("mutation ($refreshToken: [Int!]) { __typename }", { refreshToken: [apiKey] });
    const [listed, journal, snapshot] = await Promise.all([
      service.control.listApiKeys(),
      service.control.listRequests({ limit: 1_000 }),
      service.control.getSnapshot(),
    ]);
    expect(JSON.stringify(listed)).toContain(id);
    for (const response of [listed, journal, snapshot])
      expect(JSON.stringify(response)).not.toContain(apiKey);
  });
});

describe("K9 me", () => {
  it("K9 me is a WorkspaceUser for a workspaceToken and a User for a userToken", async () => {
    const { workspaceToken, userToken } = await service.tokens();
    expect((await me(workspaceToken)).data.me.__typename).toBe("WorkspaceUser");
    expect((await me(userToken)).data.me.__typename).toBe("User");
  });

  it("K9 me without a token is rejected", async () => {
    const response = await me(null);
    expect(response.data.me).toBeNull();
    expect(response.errors?.[0]).toMatchObject({
      message: "Unauthorized",
      extensions: { code: "UNAUTHENTICATED" },
    });
  });

  it("K9 me with an Authorization header of another scheme is rejected", async () => {
    const response = await service.graphql(
      meQuery,
      {},
      { token: null, headers: { authorization: "Basic YTpi" } },
    );
    expect(response.errors?.[0]?.extensions?.code).toBe("UNAUTHENTICATED");
  });
});

describe("K10 shape of me", () => {
  it("K10 WorkspaceUser has the fields of the interface", async () => {
    const response = await service.graphql(`{
      me { ... on WorkspaceUser {
        id role createdAt
        user { id name email emailHash novuHash }
        workspace { id name slug displayName status workspaceType }
      } }
    }`);
    expect(response.errors).toBeUndefined();
    const { me: found } = response.data;
    expect(["admin", "l1", "l2", "l3"]).toContain(found.role);
    expect(found.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(found.user).toMatchObject({
      id: expect.any(String),
      name: expect.any(String),
      email: expect.any(String),
    });
    expect(found.workspace).toMatchObject({ id: expect.any(String), status: "active" });
  });

  mockTest.each(["admin", "l1", "l2", "l3"] as const)(
    "K10 me returns the role %s unchanged",
    async (role) => {
      const { apiKey } = await service.key({ role });
      const { workspaceToken } = await service.tokens(apiKey);
      expect((await me(workspaceToken)).data.me.role).toBe(role);
    },
  );

  it("K10 WorkspaceUser has no other fields", async () => {
    for (const field of ["name", "email", "userId", "workspaceId", "access"]) {
      const response = await service.graphql(`{ me { ... on WorkspaceUser { ${field} } } }`);
      expect(response.errors?.[0]?.message, field).toMatch(/^Cannot query field/);
    }
  });
});
