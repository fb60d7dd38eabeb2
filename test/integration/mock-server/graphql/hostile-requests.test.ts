// The service responds to any input with its own errors: never a 5xx, a stack trace or a crash.

import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as operations from "../../../../sdk/generated/operations.ts";
import { atDepth } from "../../../support/depth.ts";
import { callGraphql, workspaceToken } from "../../../support/mock-client.ts";

const stackTrace = /\n\s+at |node_modules|mock-server\//;
const roomy = { listen: false, settings: { rateLimit: { requests: 1_000_000 } } } as const;

const documents = Object.entries(operations)
  .filter(([name]) => name.endsWith("Document"))
  .map(([name, document]) => ({ name, query: String(document) }));

const gatewayFields =
  /createWorkspace|addUsersTo|ProviderConnection\(|createConnectionJob|createJobWork|initiateTax|loginVia/;
const pathOf = (query: string) => (gatewayFields.test(query) ? "/gateway/graphql" : "/graphql");

async function post(mock: MockServer, path: string, body: NonNullable<RequestInit["body"]>, token?: string) {
  const response = await mock.fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body,
  });
  return { status: response.status, text: await response.text() };
}

function expectWellAnswered({ status, text }: { status: number; text: string }): void {
  expect(status).toBeLessThan(500);
  expect(text).not.toContain("INTERNAL_SERVER_ERROR");
  expect(text).not.toMatch(stackTrace);
  expect(() => JSON.parse(text)).not.toThrow();
}

/** The names of the variables an operation declares. */
const variablesOf = (query: string) => [
  ...new Set([...query.matchAll(/\$(\w+)\s*:/g)].map(([, name]) => name ?? "")),
];

const oddText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "",
    " ",
    "__proto__",
    "constructor",
    "\u0000",
    "\ud800",
    "../../../unit",
    "x".repeat(3_000),
    "-1",
  ),
);
const oddValue = fc.oneof(
  oddText,
  fc.constantFrom(null, true, 0, -1, 1.5, 2 ** 31, Number.MAX_SAFE_INTEGER, 1e308),
  fc.array(oddText, { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 4 }),
  // Correct names with odd values pass the types and reach the rules.
  fc.dictionary(
    fc.constantFrom(
      "url",
      "endpointId",
      "eventTypes",
      "name",
      "externalId",
      "displayName",
      "metadata",
      "ids",
    ),
    fc.oneof(oddText, fc.constantFrom(null, 1), fc.array(oddText, { maxLength: 2 })),
    { maxKeys: 4 },
  ),
);

describe("GraphQL requests with odd variables", () => {
  it.each(documents)("get the service's own errors from $name", async ({ query }) => {
    await using mock = await createMockServer(roomy);
    const path = pathOf(query);
    const login = await callGraphql(
      mock,
      "mutation ($t: String!) { loginViaPersonalApiToken(token: $t) { accessToken } }",
      {
        router: "gateway",
        variables: { t: mock.partnerApiKey },
      },
    );
    const tokens = [await workspaceToken(mock), login.loginViaPersonalApiToken.accessToken, undefined];
    const names = variablesOf(query);
    const variables = fc.record(Object.fromEntries(names.map((name) => [name, oddValue])), {
      requiredKeys: [],
    });
    await fc.assert(
      fc.asyncProperty(variables, fc.constantFrom(...tokens), async (given, token) => {
        expectWellAnswered(await post(mock, path, JSON.stringify({ query, variables: given }), token));
      }),
      { numRuns: atDepth(10, 40) },
    );
  });
});

describe("GraphQL requests with odd bytes", () => {
  it("get the service's own errors for documents with a part removed, doubled or replaced", async () => {
    await using mock = await createMockServer(roomy);
    const token = await workspaceToken(mock);
    const mutation = fc.record({
      document: fc.constantFrom(...documents),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.nat(40),
      insert: fc.oneof(
        fc.constantFrom("{", "}", "(", "...", "@skip", '"""', "$x", "__schema", "\\u{0}"),
        oddText,
      ),
    });
    await fc.assert(
      fc.asyncProperty(mutation, async ({ document, at, length, insert }) => {
        const start = Math.floor(at * document.query.length);
        const query = document.query.slice(0, start) + insert + document.query.slice(start + length);
        expectWellAnswered(await post(mock, pathOf(query), JSON.stringify({ query }), token));
      }),
      { numRuns: atDepth(100, 400) },
    );
  });
});
