import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { useService } from "./harness.ts";

const service = useService();

const routers = ["base", "gateway"] as const;
const urlOf = (router: (typeof routers)[number]) =>
  `${router === "base" ? service.baseUrl : service.gatewayUrl}/graphql`;
const graphqlResponse = "application/graphql-response+json";
const json = { "content-type": "application/json" };
const post = (
  body: NonNullable<RequestInit["body"]>,
  headers: Record<string, string> = json,
): RequestInit => ({
  method: "POST",
  headers,
  body,
});
const stackTrace = /\n\s+at |node_modules|\.ts:\d+|\.js:\d+/;

describe("T1 GraphQL over HTTP of September 2026, beyond the audits of graphql-http", () => {
  async function send(body: object, { token = false, accept = graphqlResponse } = {}) {
    const bearer = token ? { authorization: `Bearer ${(await service.tokens()).workspaceToken}` } : {};
    const init = post(JSON.stringify(body), { ...json, accept, ...bearer });
    const response = await fetch(urlOf("base"), init);
    const type = response.headers.get("content-type");
    return { status: response.status, type, json: JSON.parse(await response.text()) };
  }

  it("T1 a response with data has a 2xx, also with errors, and 200 without", async () => {
    const query = "{ me { __typename } webhookEventCatalog { name } }";
    const partial = await send({ query });
    expect(partial).toMatchObject({ status: 200, type: `${graphqlResponse}; charset=utf-8` });
    expect([partial.json.data.me, partial.json.errors]).toEqual([null, [expect.anything()]]);
    const complete = await send({ query }, { token: true });
    expect([complete.status, complete.json.errors]).toEqual([200, undefined]);
  });

  const two = "query A { __typename } query B { __typename }";
  it.each([
    ["a document that cannot be parsed", { query: "{" }],
    ["a document that is not valid", { query: "{ nothing }" }],
    ["an operation that cannot be selected", { query: two }],
    ["an operationName that the document does not have", { query: two, operationName: "C" }],
    ["a variable that is missing", { query: "query ($n: Boolean!) { __typename @skip(if: $n) }" }],
    ["a subscription", { query: "subscription { me { __typename } }" }],
  ])("T1 %s has no data and a 4xx", async (_, body) => {
    const response = await send(body, { token: true });
    expect([response.status, response.type]).toEqual([400, `${graphqlResponse}; charset=utf-8`]);
    expect(response.json).not.toHaveProperty("data");
    expect(response.json.errors.length).toBeGreaterThan(0);
  });

  it.each(["text/html", "application/json;q=0"])("T4 accept: %s is refused with 406", async (accept) => {
    expect((await send({ query: "{ __typename }" }, { accept })).status).toBe(406);
  });

  it("T1 unknown properties of the request are ignored, and null is as if it were absent", async () => {
    const absent = { variables: null, operationName: null, extensions: null };
    const response = await send({ query: "{ __typename }", ...absent, batch: [1] });
    expect(response.json).toEqual({ data: { __typename: "Query" } });
  });
});

describe("T3 no introspection", () => {
  // Each of these makes a plain GraphQL server name what exists.
  it.each([
    ["{ mee { id } }"],
    ["{ me { id } }"],
    ["{ me { ... on WorkspaceUsr { id } } }"],
    ["{ me { ... on WorkspaceUser { rol } } }"],
    ["{ me { ... on WorkspaceUser { workspace { webhookEndpoints(limt: 2) { done } } } } }"],
    ["query ($a: WorkspaceRol) { me { __typename } }"],
    ['mutation { createWebhookEndpoint(input: { ur: "https://a.example" }) { signingSecret } }'],
    ["{ me { ... on WorkspaceUser { workspace { tasks(filters: { statuses: [RUNING] }) { id } } } } }"],
    [
      "mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { signingSecret } }",
      { input: { ur: "https://a.example" } },
    ],
  ])("T3 the error for %s suggests no name", async (query, variables?: object) => {
    const response = await service.graphql(query, { ...variables });
    expect(response.errors?.length).toBeGreaterThan(0);
    expect(response.text).not.toMatch(/did you mean/i);
  });
});

it("T3 an error names the required field that was not sent, and suggests none (A-35)", async () => {
  const response = await service.graphql("mutation { createWebhookEndpoint(input: {}) { signingSecret } }");
  expect(response.message).toBe(
    'Field "CreateWebhookEndpointInput.url" of required type "String!" was not provided.',
  );
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
  it.each(routers.flatMap((router) => Object.keys(malformed).map((name) => [router, name] as const)))(
    "T4 the %s router rejects %s, with JSON that is not called a GraphQL response",
    async (router, name) => {
      const { headers, ...init } = malformed[name]!;
      const response = await fetch(urlOf(router), {
        ...init,
        headers: { accept: graphqlResponse, ...headers },
      });
      const text = await response.text();
      expect(Math.floor(response.status / 100)).toBe(4);
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(JSON.parse(text).errors[0].message).toEqual(expect.any(String));
      expect(text).not.toMatch(stackTrace);
    },
  );

  it.each(["{ __typename }", 'mutation { deleteWebhookEndpoint(endpointId: "x") }'])(
    "T4 a GET with %s in its URL executes nothing",
    async (query) => {
      const response = await fetch(`${urlOf("base")}?query=${encodeURIComponent(query)}`);
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
      expect(await response.text()).not.toContain('"data"');
    },
  );

  it("T4 a body above the limit is rejected, and the service continues to work", async () => {
    const large = JSON.stringify({ query: `{ __typename } # ${"x".repeat(2_000_000)}` });
    expect((await fetch(urlOf("base"), post(large))).status).toBe(413);
    expect((await fetch(urlOf("base"), post('{"query":"{ __typename }"}'))).status).toBe(200);
  });

  it("T4 documents that are too deep or too long are rejected before they are validated", async () => {
    const deep = `{ ${"me { ... on WorkspaceUser { workspace ".repeat(200)}`;
    const wide = `{ ${Array.from({ length: 5_000 }, (_, index) => `a${index}: __typename`).join(" ")} }`;
    for (const query of [deep, wide]) {
      const response = await service.graphql(query);
      expect([response.data, response.message]).toEqual([undefined, expect.any(String)]);
    }
    // Each fragment spreads the next one twice: 2^60 fields when followed naively.
    const fanned = Array.from(
      { length: 60 },
      (_, index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`,
    );
    const bomb = `{ ...F0 } ${fanned.join(" ")} fragment F60 on Query { __typename }`;
    expect((await service.graphql(bomb)).data).toEqual({ __typename: "Query" });
  });
});

describe("T5 failing fields", () => {
  it("T5 the path of a nested error contains every step", async () => {
    const response = await service.graphql(
      "{ me { ... on WorkspaceUser { workspace { list: webhookEndpoints(limit: 0) { done } } } } }",
    );
    expect(response.errors?.[0]?.path).toEqual(["me", "workspace", "list"]);
  });
});

it("T6 an internal error is masked in the response and recorded in the journal", async () => {
  await using mock = await createMockServer({
    checkConnection() {
      throw new Error("secret detail at /etc/passwd");
    },
  });
  const call = async (query: string, token?: string) => {
    const headers = token ? { ...json, authorization: `Bearer ${token}` } : json;
    const response = await fetch(`${mock.gatewayUrl}/graphql`, post(JSON.stringify({ query }), headers));
    const text = await response.text();
    return { status: response.status, text, ...JSON.parse(text) };
  };
  const login = await call(
    `mutation { loginViaPersonalApiToken(token: "${mock.partnerApiKey}") { accessToken } }`,
  );
  const token = login.data.loginViaPersonalApiToken.accessToken;
  const started = await call(
    `mutation { startProviderConnection(workspaceId: "${mock.workspaceId}", providerKey: "p") { id } }`,
    token,
  );
  const { id } = started.data.startProviderConnection;
  const failed = await call(`mutation { collectProviderConnection(connectionId: "${id}") { id } }`, token);
  expect(failed.status).toBe(200);
  expect(failed.errors[0]).toMatchObject({
    message: "Internal server error",
    path: ["collectProviderConnection"],
    extensions: { code: "INTERNAL_SERVER_ERROR" },
  });
  expect(failed.text).not.toContain("passwd");
  expect(failed.text).not.toMatch(stackTrace);
  expect((await mock.control.listRequests()).data.at(-1)?.rejection).toContain("secret detail");
});

describe("T7 source-platform", () => {
  const marked = { router: "gateway", headers: { "source-platform": "acme" } } as const;

  it("T7 the request journal contains source-platform", async () => {
    await service.graphql("query Marked { me { __typename } }", {}, marked);
    const journal = await service.control.listRequests({ limit: 1_000 });
    const entry = journal.data.findLast(({ operationName }) => operationName === "Marked");
    expect(entry).toMatchObject({ router: "gateway", sourcePlatform: "acme" });
  });
});
