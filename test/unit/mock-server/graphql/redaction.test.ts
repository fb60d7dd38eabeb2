import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parse } from "graphql";
import { describe, expect, it } from "vitest";
import {
  redactDocument,
  redactJson,
  redactText,
  redactVariables,
} from "../../../../mock-server/graphql/redaction.ts";
import { cpuMs } from "../../../support/cpu-ms.ts";

const mask = (query: string) => redactDocument(query, parse(query), 1_000);

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
    expect(redactDocument('mutation { a(token: "hush', null, 1_000).text).toBe("mutation { a(token: ");
  });
});

describe("redactText", () => {
  it("keeps no more in memory than what it returns", () => {
    setFlagsFromString("--expose_gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const before = process.memoryUsage().heapUsed;
    const texts = Array.from({ length: 50 }, (_, index) =>
      redactText(`${index} `.repeat(500_000).slice(0, 100)),
    );
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
    expect(texts).toHaveLength(50);
  });

  const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1LTEifQ.c2lnbmF0dXJl";
  it.each([
    ["an API key", "wtk_9GByzmwQi9sFZSW7aKZ-GsSW9mMwsM7SEEFQAEBFVhg"],
    ["a partner key", "wtp_9GByzmwQi9sFZSW7aKZ-GsSW9mMwsM7SEEFQAEBFVhg"],
    ["a signing secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/w=="],
    ["a token", jwt],
    ["an unsigned token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1LTEifQ."],
  ])("redacts %s anywhere in a text", (_, secret) => {
    expect(redactText(`# key ${secret}, and ${secret}`)).toBe("# key [redacted], and [redacted]");
  });

  it("redacts credentials behind their scheme, and user info of a URL", () => {
    expect(redactText("Authorization: Bearer hush-hush")).toBe("Authorization: Bearer [redacted]");
    expect(redactText("basic dXNlcjpwYXNz")).toBe("basic [redacted]");
    expect(redactText("see https://user:pass@host/a")).toBe("see https://[redacted]@host/a");
    expect(redactText("see https://host/a@b, a bearer of news")).toBe(
      "see https://host/a@b, a bearer of news",
    );
  });

  it("takes milliseconds for hostile text of the longest length that is kept", () => {
    for (const part of ["eyJaaaaaaaa", " ", "bearer ", "://a", "wtk_", "whsec_", "eyJaaaaaaaa.a"]) {
      const text = part.repeat(8_192 / part.length);
      const startedMs = cpuMs();
      redactText(text);
      expect(cpuMs() - startedMs, part).toBeLessThan(250);
    }
  });
});

describe("redactVariables", () => {
  it("redacts names of secrets in any spelling, and secrets under any name", () => {
    const variables = {
      API_KEY: "hush",
      "x-authorization": "hush",
      note: "wtk_0123456789",
      wtk_0123456789: 1,
    };
    expect(redactVariables(variables, new Set())).toEqual({
      API_KEY: "[redacted]",
      "x-authorization": "[redacted]",
      note: "[redacted]",
      "[redacted]": 1,
    });
  });

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

describe("redactJson", () => {
  const body = '{"data":{"signingSecret":"hush-1","list":[{"apiKey":"hush-2"}],"name":"seen"}}';

  it("redacts by name and by shape in JSON that was cut anywhere, and in other text", () => {
    for (let length = 1; length < body.length; length++) {
      expect(redactJson(body.slice(0, length))).not.toMatch(/hush-\d/);
    }
    expect(redactJson("status: whsec_abcdefghijkl")).toBe("status: [redacted]");
  });
});
