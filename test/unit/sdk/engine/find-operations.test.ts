import { Kind, parse } from "graphql";
import { describe, expect, it } from "vitest";
import { findOperations } from "../../../../sdk/engine/document.ts";
import * as documents from "../../../../sdk/generated/operations.ts";

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
