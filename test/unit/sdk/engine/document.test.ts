import { runInNewContext } from "node:vm";
import { Kind, parse } from "graphql";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createDocumentReader,
  findOperations,
  type GraphQLDocument,
} from "../../../../sdk/engine/document.ts";
import * as documents from "../../../../sdk/generated/operations.ts";

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
    expect(await read(documents.MeDocument)).toMatchObject({ name: "Me", kind: "query" });
    const document = 'mutation M {\n  a(b: "c")\n}';
    expect(await read(parse(document, { noLocation: true }))).toMatchObject({
      name: "M",
      kind: "mutation",
      document,
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
    [{ kind: "Name", value: "{ a }" }, "a GraphQL document, got something else"],
    [{ kind: "Document", definitions: [{ kind: "Query" }] }, "a GraphQL document, got something else"],
  ])("the document %j is rejected before anything is sent", async (document, message) => {
    await expect(read(document as string)).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
      message: `request: expected ${message}`,
    });
  });

  it("one that cannot be printed is rejected with the reason of the printer", async () => {
    const document = { kind: "Document", definitions: [{ kind: "Query" }] };
    await expect(read(document)).rejects.toMatchObject({ cause: expect.any(Error) });
  });

  it("a document is read once, and ever new texts do not fill the memory", async () => {
    const reader = createDocumentReader();
    const reads = vi.spyOn(String.prototype, "matchAll");
    onTestFinished(() => reads.mockRestore());
    const text = "query Big { a }";
    for (let times = 0; times < 100; times += 1) await reader.read(text, "base", true);
    expect(reads).toHaveBeenCalledTimes(1);
    for (let index = 0; index < 1_000; index += 1) await reader.read(`query Q${index} { a }`, "base", true);
    expect((await reader.read(text, "base", true)).name).toBe("Big");
    // It was dropped for others.
    expect(reads).toHaveBeenCalledTimes(1 + 1_000 + 1);
  });
});

// graphql-js decides what a valid document is and which operations it has.

function byGraphQL(text: string) {
  return parse(text, { noLocation: true }).definitions.flatMap((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? [{ type: each.operation, name: each.name?.value }] : [],
  );
}

describe("the operations of a document", () => {
  const ownDocuments = Object.entries(documents).filter(([name]) => name.endsWith("Document"));
  it.each(ownDocuments)("are those that graphql-js finds in %s", (_, document) => {
    const text = String(document);
    expect(findOperations(text)).toEqual(byGraphQL(text));
    const inOneLine = text.replaceAll(/\s+/g, ",");
    expect(findOperations(inOneLine)).toEqual(byGraphQL(inOneLine));
  });

  it.each([
    "\uFEFFsubscription,S,@a(b:[{c:-0.5e+3,d:$v,e:true}]),{f}",
    'query Q($query: [In!]! = ["{ mutation"] @on(a: null)) { on: a ... on B @c { d } ...fragment }',
    "{ me { __typename } }",
    "mutation{a}",
    "query @query @mutation(a: {b: 1}) { a }",
    "query # mutation M\n Q @ # x\n mutation { a }",
    '"what it is" query Q { a }',
    '"""mutation { "it" \\""" }""" query Q($v: [In!]! = [{a: "}"}] @d) { a }',
    'query Q { a(text: "mutation {", other: "\\"}") }',
    "fragment query on mutation @subscription { id } mutation fragment { a { ...query } }",
    "query mutation { mutation: query } fragment F on A { b }",
    "query A { a } mutation B { b } { c } subscription { d }",
    '{ a(b: """\n"" ) } mutation { b""") }',
    '{ a(b: """""", c: "", d: "\\u{1F600}") }',
  ])("are those that graphql-js finds in %s", (text) => {
    expect(findOperations(text)).toEqual(byGraphQL(text));
  });

  it("are found in a text of 1 MB", () => {
    const fields = "field(argument: 1) ".repeat(55_000);
    expect(findOperations(`query Q { ${fields} }`)).toEqual([{ type: "query", name: "Q" }]);
    expect(findOperations(`{ a(b: """${'x" '.repeat(300_000)}""") }`)).toHaveLength(1);
    expect(findOperations(`{ a(b: "${"x".repeat(1_000_000)}`)).toHaveLength(1);
  });
});
