import { runInNewContext } from "node:vm";
import { parse } from "graphql";
import { describe, expect, it } from "vitest";
import { createDocumentReader, type GraphQLDocument } from "../../../../sdk/engine/document.ts";
import { MeDocument } from "../../../../sdk/generated/operations.ts";
import { cpuMs } from "../../../support/cpu-ms.ts";

const read = async <Result, Variables>(document: GraphQLDocument<Result, Variables>) =>
  createDocumentReader().read(document, "base", true);

describe("a document of the caller", () => {
  it("a string is sent unchanged, with its kind and name", async () => {
    const text = "# who am I\nquery Who { me { __typename } }";
    expect(await read(text)).toEqual({
      document: text,
      method: "request",
      name: "Who",
      kind: "query",
      router: "base",
      authenticated: true,
    });
  });

  it("a generated document and a parsed one, printed by graphql-js, are accepted", async () => {
    expect(await read(MeDocument)).toMatchObject({ name: "Me", kind: "query" });
    const document = 'mutation M {\n  a(b: "c")\n}';
    expect(await read(parse(document, { noLocation: true }))).toMatchObject({
      ...{ name: "M", kind: "mutation", document },
    });
  });

  it("one of another realm is accepted", async () => {
    const text = "query A { a }";
    expect(await read(runInNewContext(`new String(${JSON.stringify(text)})`))).toMatchObject({ name: "A" });
  });

  it.each([
    ["", "a GraphQL document with one operation, got one with 0"],
    ["query A { a } query B { b }", "a GraphQL document with one operation, got one with 2"],
    ["fragment F on User { id }", "a GraphQL document with one operation, got one with 0"],
    [parse("type A { a: Int }"), "a GraphQL document with one operation, got one with 0"],
    ["subscription S { a }", "a query or a mutation, got a subscription"],
    [{}, "a GraphQL document, got something else"],
    [null, "a GraphQL document, got something else"],
    [5, "a GraphQL document, got something else"],
    [{ kind: "Document", definitions: [{ kind: "Query" }] }, "a GraphQL document, got something else"],
  ])("the document %j is rejected before anything is sent", async (document, message) => {
    await expect(read(document as string)).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
      message: `request: expected ${message}`,
    });
  });

  it("a document is cached, and ever new texts do not fill the memory", async () => {
    const reader = createDocumentReader();
    const text = `query Big { ${"a ".repeat(20_000)} }`;
    const startedMs = cpuMs();
    // Reading takes several ms.
    for (let times = 0; times < 2_000; times += 1) await reader.read(text, "base", true);
    expect(cpuMs() - startedMs).toBeLessThan(5_000);
    for (let index = 0; index < 1_000; index += 1) await reader.read(`query Q${index} { a }`, "base", true);
    expect((await reader.read(text, "base", true)).name).toBe("Big");
  });
});
