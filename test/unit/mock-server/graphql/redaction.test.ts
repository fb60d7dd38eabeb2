import { parse } from "graphql";
import { describe, expect, test } from "vitest";
import { redactDocument, redactVariables } from "../../../../mock-server/graphql/redaction.ts";

const mask = (query: string) => redactDocument(query, parse(query));

describe("redactDocument", () => {
  test("masks literals under secret names and leaves the rest as it stands", () => {
    const query = 'mutation { exchange(refreshToken: "hush", other: "seen") { a } }';
    expect(mask(query).text).toBe('mutation { exchange(refreshToken: "[redacted]", other: "seen") { a } }');
  });

  test("masks block strings, lists, nested objects and default values", () => {
    const query = `mutation ($token: String = "hush-1") {
      a(token: """hush-2
      "quoted" hush-3""")
      b(in: { apiKey: "hush-4", list: [{ password: ["hush-5"] }] })
    }`;
    expect(mask(query).text).not.toContain("hush");
    expect(mask(query).text.match(/\[redacted\]/g)).toHaveLength(4);
  });

  test("masks everything the start of a connection is given", () => {
    const query = 'mutation { startProviderConnection(workspaceId: "w", inputs: { pin: "hush" }) { id } }';
    expect(mask(query).text).not.toContain("hush");
    expect(mask(query).text).toContain('workspaceId: "w"');
  });

  test("finds the variables that carry secrets, whatever they are called", () => {
    const query = `mutation ($k: String!, $x: JSON, $plain: ID!) {
      exchange(refreshToken: $k) { a }
      startProviderConnection(workspaceId: $plain, inputs: $x) { id }
      other(in: { apiKey: $nested }) { id }
    }`;
    const { secretVariables } = mask(query);
    for (const name of ["k", "x", "nested"]) expect(secretVariables.has(name)).toBe(true);
    expect(secretVariables.has("plain")).toBe(false);
  });

  test("of a text that cannot be parsed nothing is kept from the first quotation mark on", () => {
    expect(redactDocument('mutation { a(token: "hush', null).text).toBe("mutation { a(token: ");
  });
});

describe("redactVariables", () => {
  test("masks at any depth, keeps null, and leaves the original alone", () => {
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
