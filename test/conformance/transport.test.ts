import { describe, expect } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { it, mockTest, useService } from "./harness.ts";

const service = useService();

/** Sends bytes as they are; the response as text, so that no JSON is needed to look at it. */
async function raw(
  init: RequestInit,
  path: "/graphql" | "/gateway/graphql" = "/graphql",
): Promise<{ status: number; type: string; text: string }> {
  const url = path === "/graphql" ? `${service.baseUrl}/graphql` : `${service.gatewayUrl}/graphql`;
  const response = await fetch(url, init);
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

const json = { "content-type": "application/json" };
const post = (body: RequestInit["body"], headers: Record<string, string> = json): RequestInit => ({
  method: "POST",
  headers,
  body: body ?? null,
});
const routers = ["base", "gateway"] as const;
const stackTrace = /\n\s+at |node_modules|\.ts:\d+|\.js:\d+/;

describe("T1 one POST endpoint per router", () => {
  it.each(routers)("T1 the %s router executes query, variables and operationName", async (router) => {
    const url = `${router === "base" ? service.baseUrl : service.gatewayUrl}/graphql`;
    const response = await fetch(url, {
      method: "POST",
      headers: json,
      body: JSON.stringify({
        query: "query A($is: Boolean!) { __typename @include(if: $is) } query B { other: __typename }",
        variables: { is: true },
        operationName: "A",
      }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { __typename: "Query" } });
  });

  it("T1 several operations without an operationName are rejected", async () => {
    const response = await service.graphql("query A { __typename } query B { __typename }");
    expect(response.data).toBeUndefined();
    expect(response.errors).toHaveLength(1);
  });
});

describe("T2 each operation on its own router", () => {
  const partnerOperations = [
    'mutation { createWorkspace(input: { displayName: "x" }) { id } }',
    'mutation { collectProviderConnection(connectionId: "x") { id } }',
    'mutation { createConnectionJob(connectionId: "x", jobName: "x") { id } }',
    'mutation { createJobWorks(connectionJobId: "x", inputs: []) { id } }',
  ];
  const baseOperations = [
    "{ webhookEventCatalog { name } }",
    'mutation { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: "x") { userToken } }',
    'mutation { createWebhookEndpoint(input: { url: "https://x.example" }) { signingSecret } }',
    'mutation { updateWebhookEndpoint(input: { endpointId: "x" }) { id } }',
    'mutation { deleteWebhookEndpoint(endpointId: "x") }',
    'mutation { rotateWebhookEndpointSecret(input: { endpointId: "x" }) { signingSecret } }',
    "{ me { ... on WorkspaceUser { workspace { webhookEndpoints { done } } } } }",
  ];

  it.each(partnerOperations)("T2 the base router does not know %s", async (query) => {
    const response = await service.graphql(query);
    expect(response.data).toBeUndefined();
    expect(response.errors?.[0]?.message).toMatch(/^Cannot query field/);
    expect(response.errors?.[0]?.extensions?.code).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  it.each(baseOperations)("T2 the gateway does not know %s", async (query) => {
    const response = await service.graphql(query, undefined, { router: "gateway" });
    expect(response.data).toBeUndefined();
    expect(response.errors?.[0]?.message).toMatch(/^Cannot query field/);
  });

  it("T2 both routers have me", async () => {
    const query = "{ me { ... on WorkspaceUser { id } } }";
    const onBase = await service.graphql(query);
    const onGateway = await service.graphql(query, undefined, { router: "gateway" });
    expect(onGateway.data.me.id).toBe(onBase.data.me.id);
  });
});

describe("T3 no introspection", () => {
  for (const router of routers) {
    it.each(["{ __schema { queryType { name } } }", '{ __type(name: "Me") { name } }'])(
      `T3 the ${router} router rejects %s`,
      async (query) => {
        const response = await service.graphql(query, undefined, { router });
        expect(response.data).toBeUndefined();
        expect(response.errors?.length).toBeGreaterThan(0);
        expect(response.text).not.toContain('"queryType"');
      },
    );
  }

  it("T3 both routers return __typename", async () => {
    const response = await service.graphql("{ __typename me { __typename } }");
    expect(response.data).toEqual({ __typename: "Query", me: { __typename: "WorkspaceUser" } });
  });

  // Each of these makes a plain GraphQL server name what exists.
  it.each([
    "{ mee { id } }",
    "{ me { id } }",
    "{ me { ... on WorkspaceUsr { id } } }",
    "{ me { ... on WorkspaceUser { rol } } }",
    "{ me { ... on WorkspaceUser { workspace { webhookEndpoints(limt: 2) { done } } } } }",
    "query ($a: WorkspaceRol) { me { __typename } }",
    'mutation { createWebhookEndpoint(input: { ur: "https://a.example" }) { signingSecret } }',
    "{ me { ... on WorkspaceUser { workspace { tasks(filters: { statuses: [RUNING] }) { id } } } } }",
  ])("T3 the error for %s suggests no name", async (query) => {
    const response = await service.graphql(query);
    expect(response.errors?.length).toBeGreaterThan(0);
    expect(response.text).not.toMatch(/did you mean/i);
  });

  it("T3 the error for wrong variables suggests no name", async () => {
    const response = await service.graphql(
      "mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { signingSecret } }",
      { input: { ur: "https://a.example" } },
    );
    expect(response.errors?.length).toBeGreaterThan(0);
    expect(response.text).not.toMatch(/did you mean/i);
  });
});

describe("T4 malformed requests", () => {
  const malformed: Record<string, RequestInit> = {
    "broken JSON": post("{"),
    "an empty body": post(""),
    "JSON that is no object": post("[1]"),
    "JSON null": post("null"),
    "a missing query": post(JSON.stringify({ variables: {} })),
    "a query that is no text": post(JSON.stringify({ query: 1 })),
    "variables that are no object": post(JSON.stringify({ query: "{ __typename }", variables: [1] })),
    "an operationName that is no text": post(JSON.stringify({ query: "{ __typename }", operationName: 1 })),
    "a text body": post("{ __typename }", { "content-type": "text/plain" }),
    "a form": post("query=%7B__typename%7D", { "content-type": "application/x-www-form-urlencoded" }),
    "bytes that are not UTF-8": post(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])),
    "JSON nested without end": post(`{"query":"{ __typename }","variables":${'{"a":'.repeat(50_000)}`),
    "a GET": { method: "GET" },
    "a PUT": { ...post("{}"), method: "PUT" },
  };
  for (const path of ["/graphql", "/gateway/graphql"] as const) {
    it.each(Object.keys(malformed))(`T4 ${path} rejects %s`, async (name) => {
      const response = await raw(malformed[name] ?? {}, path);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      expect(response.type).toContain("json");
      expect(JSON.parse(response.text).errors[0].message).toEqual(expect.any(String));
      expect(response.text).not.toMatch(stackTrace);
    });
  }

  it("T4 a GET with a query in its URL executes nothing", async () => {
    const response = await fetch(`${service.baseUrl}/graphql?query=${encodeURIComponent("{ __typename }")}`);
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    expect(await response.text()).not.toContain('"data"');
  });

  mockTest("T4 a body above the limit is rejected, and the service continues to work", async () => {
    const big = await raw(post(JSON.stringify({ query: `{ __typename } # ${"x".repeat(2_000_000)}` })));
    expect(big.status).toBe(413);
    expect((await raw(post('{"query":"{ __typename }"}'))).status).toBe(200);
  });

  mockTest("T4 documents that are too deep or too long are rejected before they are validated", async () => {
    const deep = `{ ${"me { ... on WorkspaceUser { workspace ".repeat(200)}`;
    const wide = `{ ${Array.from({ length: 5_000 }, (_, index) => `a${index}: __typename`).join(" ")} }`;
    // Each fragment spreads the next one twice: 2^60 fields when followed naively.
    const fanned = Array.from(
      { length: 60 },
      (_, index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`,
    );
    const bomb = `{ ...F0 } ${fanned.join(" ")} fragment F60 on Query { __typename }`;
    for (const query of [deep, wide]) {
      const response = await service.graphql(query);
      expect(response.data).toBeUndefined();
      expect(response.errors?.length).toBeGreaterThan(0);
    }
    expect((await service.graphql(bomb)).data).toEqual({ __typename: "Query" });
  });
});

describe("T5 failing fields", () => {
  it("T5 a failed field is null beside the others and has an error with message, path and code", async () => {
    const response = await service.graphql(
      "{ me { __typename } webhookEventCatalog { name } }",
      {},
      { token: null },
    );
    expect(response.status).toBe(200);
    expect(response.data.me).toBeNull();
    expect(response.data.webhookEventCatalog).not.toHaveLength(0);
    expect(response.errors).toHaveLength(1);
    expect(response.errors?.[0]).toMatchObject({
      message: "Unauthorized",
      path: ["me"],
      extensions: { code: "UNAUTHENTICATED" },
    });
  });

  it("T5 the path of a nested error contains every step", async () => {
    const response = await service.graphql(
      "{ me { ... on WorkspaceUser { workspace { list: webhookEndpoints(limit: 0) { done } } } } }",
    );
    expect(response.errors?.[0]?.path).toEqual(["me", "workspace", "list"]);
  });
});

describe("T6 internal errors", () => {
  mockTest("T6 an internal error is masked in the response and recorded in the journal", async () => {
    await using mock = await createMockServer({
      checkConnection() {
        throw new Error("secret detail at /etc/passwd");
      },
    });
    const call = async (query: string, variables: unknown, token?: string) => {
      const response = await fetch(`${mock.gatewayUrl}/graphql`, {
        method: "POST",
        headers: { ...json, ...(token ? { authorization: `Bearer ${token}` } : {}) },
        body: JSON.stringify({ query, variables }),
      });
      return { status: response.status, text: await response.text() };
    };
    const login = await call(
      "mutation ($t: String!) { loginViaPersonalApiToken(token: $t) { accessToken } }",
      {
        t: mock.partnerApiKey,
      },
    );
    const token = JSON.parse(login.text).data.loginViaPersonalApiToken.accessToken;
    const started = await call(
      'mutation ($w: ID!) { startProviderConnection(workspaceId: $w, providerKey: "p") { id } }',
      { w: mock.workspaceId },
      token,
    );
    const { id } = JSON.parse(started.text).data.startProviderConnection;
    const failed = await call(
      "mutation ($c: ID!) { collectProviderConnection(connectionId: $c) { id } }",
      { c: id },
      token,
    );
    expect(failed.status).toBe(200);
    expect(JSON.parse(failed.text).errors[0]).toMatchObject({
      message: "Internal server error",
      path: ["collectProviderConnection"],
      extensions: { code: "INTERNAL_SERVER_ERROR" },
    });
    expect(failed.text).not.toContain("passwd");
    expect(failed.text).not.toMatch(stackTrace);
    expect((await mock.control.listRequests()).data.at(-1)?.rejection).toContain("secret detail");
  });
});

describe("T7 source-platform", () => {
  it("T7 the gateway accepts requests with and without source-platform", async () => {
    const query = "{ me { __typename } }";
    const without = await service.graphql(query, {}, { router: "gateway" });
    const withIt = await service.graphql(
      query,
      {},
      { router: "gateway", headers: { "source-platform": "acme" } },
    );
    expect(without.errors).toBeUndefined();
    expect(withIt.data).toEqual(without.data);
  });

  mockTest("T7 the request journal contains source-platform", async () => {
    await service.graphql(
      "query Marked { me { __typename } }",
      {},
      { router: "gateway", headers: { "source-platform": "acme" } },
    );
    const journal = await service.control.listRequests({ limit: 1_000 });
    const entry = journal.data.findLast(({ operationName }) => operationName === "Marked");
    expect(entry).toMatchObject({ router: "gateway", sourcePlatform: "acme" });
  });
});
