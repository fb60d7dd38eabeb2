import { parse } from "graphql";
import { describe, expect, it } from "vitest";
import { redactDocument, redactVariables } from "../../../../mock-server/graphql/redaction.ts";

const mask = (query: string) => redactDocument(query, parse(query));

describe("redactDocument", () => {
  it("redacts literals with secret names and nothing else", () => {
    const query = 'mutation { exchange(refreshToken: "hush", other: "seen") { a } }';
    expect(mask(query).text).toBe('mutation { exchange(refreshToken: "[redacted]", other: "seen") { a } }');
  });

  it("redacts block strings, lists, nested objects and default values", () => {
    const query = `mutation ($token: String = "hush-1") {
      a(token: """hush-2
      "quoted" hush-3""")
      b(in: { apiKey: "hush-4", list: [{ password: ["hush-5"] }] })
    }`;
    expect(mask(query).text).not.toContain("hush");
    expect(mask(query).text.match(/\[redacted\]/g)).toHaveLength(4);
  });

  it("redacts all inputs of startProviderConnection", () => {
    const query = 'mutation { startProviderConnection(workspaceId: "w", inputs: { pin: "hush" }) { id } }';
    expect(mask(query).text).not.toContain("hush");
    expect(mask(query).text).toContain('workspaceId: "w"');
  });

  it("finds variables with secrets by their use, whatever their names", () => {
    const query = `mutation ($k: String!, $x: JSON, $plain: ID!) {
      exchange(refreshToken: $k) { a }
      startProviderConnection(workspaceId: $plain, inputs: $x) { id }
      other(in: { apiKey: $nested }) { id }
    }`;
    const { secretVariables } = mask(query);
    for (const name of ["k", "x", "nested"]) expect(secretVariables.has(name)).toBe(true);
    expect(secretVariables.has("plain")).toBe(false);
  });

  it("cuts a text that cannot be parsed at its first quotation mark", () => {
    expect(redactDocument('mutation { a(token: "hush', null).text).toBe("mutation { a(token: ");
  });
});

describe("redactVariables", () => {
  it("redacts at any depth, keeps null, and does not change the original", () => {
    const variables = {
      k: "hush",
      list: [{ apiKey: "hush", n: 1 }],
      token: null,
      deep: { secret: { a: "hush" } },
    };
    const secret = mask("{ a(refreshToken: $k) }").secretVariables;
    expect(redactVariables(variables, secret)).toEqual({
      k: "[redacted]",
      list: [{ apiKey: "[redacted]", n: 1 }],
      token: null,
      deep: { secret: "[redacted]" },
    });
    expect(variables.k).toBe("hush");
  });
});
