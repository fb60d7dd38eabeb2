import fc from "fast-check";
import { Kind, parse } from "graphql";
import { describe, expect, it } from "vitest";
import { findOperations } from "../../../../sdk/engine/find-operations.ts";

// graphql-js decides what a valid document is and which operations it has.

function byGraphQL(text: string) {
  return parse(text, { noLocation: true }).definitions.flatMap((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? [{ type: each.operation, name: each.name?.value }] : [],
  );
}

const name = fc.constantFrom("a", "on", "query", "fragment", "true", "null", "_b1", "mutation");
const fragmentName = name.filter((each) => each !== "on");
const words = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((each) => each.join(" "));
const maybe = (part: fc.Arbitrary<string>) => fc.oneof(fc.constant(""), part);
const listOf = (part: fc.Arbitrary<string>, minLength = 1) =>
  fc.array(part, { minLength, maxLength: 3 }).map((each) => each.join(" "));

const description = maybe(fc.constantFrom('"what it is"', '"""what it "is" """'));

const { document } = fc.letrec<Record<string, string>>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      "1",
      "-0",
      "0.5e+3",
      '"t\\n\\u00e9 \\" {"',
      '""',
      '"""block " \\""" { \n"""',
      "ENUM",
      "$v",
    ),
    listOf(tie("value"), 0).map((values) => `[${values}]`),
    listOf(tie("namedValue"), 0).map((values) => `{${values}}`),
  ),
  namedValue: words(name, fc.constant(":"), tie("value")),
  arguments: maybe(listOf(tie("namedValue")).map((values) => `(${values})`)),
  directives: fc.oneof(
    { weight: 3, arbitrary: fc.constant("") },
    words(fc.constant("@"), name, tie("arguments")),
  ),
  type: fc
    .oneof(
      { depthSize: "small" },
      name,
      tie("type").map((type) => `[${type}]`),
    )
    .map((type) => `${type}!`),
  variables: maybe(
    listOf(
      words(
        description,
        fc.constant("$v:"),
        tie("type"),
        maybe(words(fc.constant("="), tie("value"))),
        tie("directives"),
      ),
    ).map((each) => `(${each})`),
  ),
  selection: fc.oneof(
    { depthSize: "small" },
    words(maybe(name.map((each) => `${each}:`)), name, tie("arguments"), tie("directives")),
    words(name, tie("selectionSet")),
    words(fc.constant("..."), fragmentName, tie("directives")),
    words(
      fc.constant("..."),
      maybe(name.map((each) => `on ${each}`)),
      tie("directives"),
      tie("selectionSet"),
    ),
  ),
  selectionSet: listOf(tie("selection")).map((selections) => `{ ${selections} }`),
  definition: fc.oneof(
    tie("selectionSet"),
    words(
      description,
      fc.constantFrom("query", "mutation", "subscription"),
      maybe(name),
      tie("variables"),
      tie("directives"),
      tie("selectionSet"),
    ),
    words(
      description,
      fc.constant("fragment"),
      fragmentName,
      fc.constant("on"),
      name,
      tie("directives"),
      tie("selectionSet"),
    ),
  ),
  document: listOf(tie("definition")),
}));

/** Where it changes nothing: between two lexemes outside of strings, which have no space on both sides. */
const ignored = fc.constantFrom(" ", ",", "\n", '# query "{ \n', "\uFEFF");

describe("the operations of a document", () => {
  it("are those that graphql-js finds in a generated document", () => {
    let valid = 0;
    fc.assert(
      fc.property(document as fc.Arbitrary<string>, ignored, (generated, between) => {
        const text = generated.replaceAll(" { ", ` ${between} { ${between} `);
        let expected: ReturnType<typeof byGraphQL>;
        try {
          expected = byGraphQL(text);
        } catch {
          return;
        }
        valid += 1;
        expect(findOperations(text)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
    expect(valid).toBeGreaterThan(200);
  });

  it.each([
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
