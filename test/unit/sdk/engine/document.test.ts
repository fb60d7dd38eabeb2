import { parse } from "graphql";
import { describe, expect, it } from "vitest";
import { createDocumentReader, type GraphQLDocument } from "../../../../sdk/engine/document.ts";
import { MeDocument } from "../../../../sdk/generated/operations.ts";
import { cpuMs } from "../../../support/cpu-ms.ts";

const read = <Result, Variables>(document: GraphQLDocument<Result, Variables>) =>
  createDocumentReader().read(document, "base", true);

describe("a document of the caller", () => {
  it("a string is sent unchanged, with its kind and name", () => {
    const text = "# who am I\nquery Who { me { __typename } }";
    expect(read(text)).toEqual({
      document: text,
      method: "request",
      name: "Who",
      kind: "query",
      router: "base",
      authenticated: true,
    });
  });

  it.each([
    ["{ me { __typename } }", "query", undefined],
    ["mutation { deleteWebhookEndpoint(endpointId: 1) }", "mutation", undefined],
    ["fragment F on User { id }\nmutation M { a { ...F } }", "mutation", "M"],
    ['query Q { a(text: "mutation {") }', "query", "Q"],
  ])("the document %s is parsed, not searched", (text, kind, name) => {
    expect(read(text)).toMatchObject({ kind, name });
  });

  it("a generated document and a parsed one are accepted", () => {
    expect(read(MeDocument)).toMatchObject({ name: "Me", kind: "query" });
    expect(read(parse("query Q { a }"))).toMatchObject({
      name: "Q",
      kind: "query",
      document: "query Q { a }",
    });
  });

  it.each([
    ["query Q {", "request: expected a GraphQL document, got a text with a syntax error"],
    ["", "request: expected a GraphQL document, got a text with a syntax error"],
    ["query A { a } query B { b }", "request: expected a document with one operation, got one with 2"],
    ["fragment F on User { id }", "request: expected a document with one operation, got one with 0"],
    ["subscription S { a }", "request: expected a query or a mutation, got a subscription"],
    [parse("type A { a: Int }"), "request: expected a GraphQL document, got something else"],
    [{} as string, "request: expected a GraphQL document, got something else"],
    [undefined as never, "request: expected a GraphQL document, got something else"],
  ])("the document %o is rejected before anything is sent", (text, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID", message }));
  });

  it.each([
    ["null", null],
    ["a number", 5],
    ["a parsed node that is no document", { ...parse("{ me { __typename } }"), kind: "Field" }],
  ])("%s is rejected as no document", (_, document) => {
    const reading = () => read(document as never);
    expect(reading).toThrow("request: expected a GraphQL document, got something else");
  });

  it("a syntax error is the cause of its rejection", () => {
    expect(() => read("query {")).toThrow(expect.objectContaining({ cause: expect.any(Error) }));
  });

  it("a document is cached, and ever new texts do not fill the memory", () => {
    const reader = createDocumentReader();
    const text = `query Big { ${"a ".repeat(20_000)} }`;
    const startedMs = cpuMs();
    // Parsing takes 20 ms.
    for (let times = 0; times < 2_000; times += 1) reader.read(text, "base", true);
    expect(cpuMs() - startedMs).toBeLessThan(5_000);
    for (let index = 0; index < 1_000; index += 1) reader.read(`query Q${index} { a }`, "base", true);
    expect(reader.read(text, "base", true).name).toBe("Big");
  });
});
