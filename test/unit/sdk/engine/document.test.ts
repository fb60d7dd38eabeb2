import { parse } from "graphql";
import { describe, expect, test } from "vitest";
import { createDocumentReader, type GraphQLDocument } from "../../../../sdk/engine/document.ts";
import { MeDocument } from "../../../../sdk/generated/operations.ts";

const read = <Result, Variables>(document: GraphQLDocument<Result, Variables>) =>
  createDocumentReader().read(document, "base", true);

describe("a document of the caller", () => {
  test("that is a text goes out unchanged, with its kind and name", () => {
    const text = "# who am I\nquery Who { me { __typename } }";
    expect(read(text)).toEqual({
      document: text,
      name: "Who",
      kind: "query",
      router: "base",
      authenticated: true,
    });
  });

  test.each([
    ["{ me { __typename } }", "query", undefined],
    ["mutation { deleteWebhookEndpoint(endpointId: 1) }", "mutation", undefined],
    ["fragment F on User { id }\nmutation M { a { ...F } }", "mutation", "M"],
    ['query Q { a(text: "mutation {") }', "query", "Q"],
  ])("%s is read by its grammar", (text, kind, name) => {
    expect(read(text)).toMatchObject({ kind, name });
  });

  test("may be a generated text or a parsed document", () => {
    expect(read(MeDocument)).toMatchObject({ name: "Me", kind: "query" });
    expect(read(parse("query Q { a }"))).toMatchObject({
      name: "Q",
      kind: "query",
      document: "query Q {\n  a\n}",
    });
  });

  test.each([
    ["query Q {", "request: expected a GraphQL document, got a text with a syntax error"],
    ["", "request: expected a GraphQL document, got a text with a syntax error"],
    ["query A { a } query B { b }", "request: expected a document with one operation, got one with 2"],
    ["fragment F on User { id }", "request: expected a document with one operation, got one with 0"],
    ["subscription S { a }", "request: expected a query or a mutation, got a subscription"],
    [{} as string, "request: expected a GraphQL document, got something else"],
    [undefined as never, "request: expected a GraphQL document, got something else"],
  ])("%o is refused before anything is sent", (text, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID", message }));
  });

  test("is remembered, and a program that never sends the same text twice does not fill the memory", () => {
    const reader = createDocumentReader();
    const time = (run: () => void) => {
      const startedAt = performance.now();
      run();
      return performance.now() - startedAt;
    };
    const text = `query Big { ${"a ".repeat(20_000)} }`;
    const first = time(() => reader.read(text, "base", true));
    const second = time(() => reader.read(text, "base", true));
    expect(second).toBeLessThan(first);
    for (let index = 0; index < 1_000; index += 1) reader.read(`query Q${index} { a }`, "base", true);
    expect(reader.read(text, "base", true).name).toBe("Big");
  });
});
