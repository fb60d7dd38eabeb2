import fc from "fast-check";
import { Kind, parse, visit } from "graphql";
import { describe, expect, it } from "vitest";
import { parseOperations } from "../../../../sdk/engine/document-grammar.ts";
import { printDocument } from "../../../../sdk/engine/print-document.ts";

// graphql-js decides what a document is. It also reads schemas, which are no documents here.

interface Reading {
  readonly type: string;
  readonly name: string | undefined;
}

function byGraphQL(text: string): readonly Reading[] | undefined {
  try {
    const { definitions } = parse(text, { noLocation: true });
    return definitions.flatMap((each) => {
      if (each.kind === Kind.FRAGMENT_DEFINITION) return [];
      if (each.kind !== Kind.OPERATION_DEFINITION) throw new SyntaxError("a schema");
      return [{ type: each.operation, name: each.name?.value }];
    });
  } catch {
    return undefined;
  }
}

function byGrammar(text: string): readonly Reading[] | undefined {
  try {
    return parseOperations(text);
  } catch {
    return undefined;
  }
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

/** A document with a few characters deleted, repeated or replaced. */
const damaged = fc
  .tuple(
    document as fc.Arbitrary<string>,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom("", "{", "}", "(", ")", '"', "...", "$", "#", "\n", "1", ".", "on ", "@", ":", "!"),
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((edited, [at, replacement]) => {
      const index = at % (edited.length + 1);
      return edited.slice(0, index) + replacement + edited.slice(index + (at % 2));
    }, text),
  );

const runs = { numRuns: 1_000 };

describe("the grammar of documents", () => {
  it("accepts generated documents and finds the same operations as graphql-js", () => {
    let valid = 0;
    fc.assert(
      fc.property(document as fc.Arbitrary<string>, (text) => {
        const expected = byGraphQL(text);
        if (expected) valid += 1;
        expect(byGrammar(text)).toEqual(expected);
      }),
      runs,
    );
    expect(valid).toBeGreaterThan(200);
  });

  it("accepts and rejects the same damaged documents as graphql-js", () => {
    let invalid = 0;
    fc.assert(
      fc.property(damaged, (text) => {
        const expected = byGraphQL(text);
        if (!expected) invalid += 1;
        expect(byGrammar(text)).toEqual(expected);
      }),
      runs,
    );
    expect(invalid).toBeGreaterThan(200);
  });

  it.each([
    "",
    '"a description" { a }',
    "1 query { a }",
    "query (1 $v: a) { a }",
    "type A { a: Int }",
    "{ a(b: 01) }",
    "{ a(b: 1.) }",
    "{ a(b: 1a) }",
    '{ a(b: "\\x") }',
    '{ a(b: "\n") }',
    '{ a(b: """") }',
    "{ a } garbage",
    "{ a(b: .5) }",
    "query ($a: Int = $b) { a }",
    "fragment on on A { a }",
    "{ ...on }",
    "{}",
    "{ a() }",
    "\u0007{ a }",
    "{ a\u00a0b }",
  ])("rejects %j", (text) => {
    expect(byGrammar(text)).toBeUndefined();
    expect(byGraphQL(text)).toBeUndefined();
  });

  it("reads a text of 1 MB in linear time", () => {
    const fields = "field(argument: 1) ".repeat(55_000);
    expect(parseOperations(`query Q { ${fields} }`)).toEqual([{ type: "query", name: "Q" }]);
    expect(() => parseOperations(`{ a(b: "${"x".repeat(1_000_000)}`)).toThrow(SyntaxError);
    expect(parseOperations(`{ a(b: """${'x" '.repeat(300_000)}""") }`)).toHaveLength(1);
  });
});

describe("a printed document", () => {
  it("is read by graphql-js as the same document, without its descriptions", () => {
    fc.assert(
      fc.property(document as fc.Arbitrary<string>, (text) => {
        if (!byGraphQL(text)) return;
        const node = visit(parse(text, { noLocation: true }), {
          StringValue: (each) => ({ kind: each.kind, value: each.value, block: false }),
          leave: (each) => ("description" in each ? { ...each, description: undefined } : undefined),
        });
        expect(parse(printDocument(node), { noLocation: true })).toEqual(node);
      }),
      runs,
    );
  });

  it("is rejected with a node of a schema", () => {
    expect(() => printDocument(parse("type A { a: Int }"))).toThrow(SyntaxError);
  });
});
