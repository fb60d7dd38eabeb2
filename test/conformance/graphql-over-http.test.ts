import { describe, expect } from "vitest";
import { it, useService } from "./harness.ts";

// The requirements of GraphQL over HTTP, September 2026, that the audits of graphql-http do not have.

const service = useService();
const graphqlResponse = "application/graphql-response+json";

async function send(
  body: unknown,
  { headers = {}, token = false }: { headers?: Record<string, string>; token?: boolean } = {},
) {
  const bearer = token ? { authorization: `Bearer ${(await service.tokens()).workspaceToken}` } : {};
  const response = await fetch(`${service.baseUrl}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: graphqlResponse, ...bearer, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    json: JSON.parse(await response.text()),
  };
}

describe("T1 GraphQL over HTTP of September 2026", () => {
  it("T1 a response with data has a 2xx, also with errors, and 200 without", async () => {
    const query = "{ me { __typename } webhookEventCatalog { name } }";
    const partial = await send({ query });
    expect(partial).toMatchObject({ status: 200, type: `${graphqlResponse}; charset=utf-8` });
    expect([partial.json.data.me, partial.json.errors]).toEqual([null, [expect.anything()]]);
    const complete = await send({ query }, { token: true });
    expect([complete.status, complete.json.errors]).toEqual([200, undefined]);
  });

  it.each([
    ["a document that cannot be parsed", { query: "{" }],
    ["a document that is not valid", { query: "{ nothing }" }],
    ["an operation that cannot be selected", { query: "query A { __typename } query B { __typename }" }],
    [
      "an operationName that the document does not have",
      { query: "query A { __typename }", operationName: "B" },
    ],
    [
      "a variable of the wrong type",
      { query: "query ($n: Int!) { me { __typename @skip(if: false) ... on User { id } } }" },
    ],
    ["a subscription", { query: "subscription { me { __typename } }" }],
  ])("T1 %s has no data and a 4xx", async (_, body) => {
    const { status, type, json } = await send(body, { token: true });
    expect([status, type]).toEqual([400, `${graphqlResponse}; charset=utf-8`]);
    expect(json).not.toHaveProperty("data");
    expect(json.errors.length).toBeGreaterThan(0);
  });

  it.each([
    ["broken JSON", "{", 400],
    ["JSON that is no object", "[1]", 400],
    ["a missing query", "{}", 400],
    ["variables that are a list", { query: "{ __typename }", variables: [7] }, 400],
  ])("T4 %s gets a 4xx that is not called a GraphQL response", async (_, body, status) => {
    const response = await send(body);
    expect([response.status, response.type]).toEqual([status, "application/json; charset=utf-8"]);
  });

  it("T4 a response in no accepted media type is refused with 406", async () => {
    for (const accept of ["text/html", "application/json;q=0"]) {
      expect((await send({ query: "{ __typename }" }, { headers: { accept } })).status).toBe(406);
    }
  });

  it("T1 the accepted media type of the highest priority is the type of the response", async () => {
    for (const [accept, expected] of [
      ["application/json;q=0.9, application/graphql-response+json", graphqlResponse],
      ["application/graphql-response+json;q=0.5, application/json;q=0.9", "application/json"],
    ] as const) {
      const { type } = await send({ query: "{ __typename }" }, { headers: { accept } });
      expect(type).toBe(`${expected}; charset=utf-8`);
    }
  });

  it("T1 unknown properties of the request are ignored, and null is as if it were absent", async () => {
    const body = {
      query: "{ __typename }",
      variables: null,
      operationName: null,
      extensions: null,
      batch: [1],
    };
    expect((await send(body)).json).toEqual({ data: { __typename: "Query" } });
  });

  it("T4 a mutation in the URL of a GET is refused with 405", async () => {
    const url = `${service.baseUrl}/graphql?query=${encodeURIComponent('mutation { deleteWebhookEndpoint(endpointId: "x") }')}`;
    const response = await fetch(url, { headers: { accept: graphqlResponse } });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });
});
