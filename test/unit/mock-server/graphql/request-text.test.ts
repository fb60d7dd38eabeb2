import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isNestedDeeper } from "../../../../mock-server/graphql/json-depth.ts";
import { negotiateMediaType } from "../../../../mock-server/graphql/media-type.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("isNestedDeeper", () => {
  test("agrees with the depth of the parsed value, whatever its strings hold", () => {
    const texts = fc.string({ unit: fc.constantFrom("{", "[", "]", "}", '"', "\\", "a", "😀") });
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 8 },
        texts,
        fc.integer(),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(texts, tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(values, fc.nat(10), (value, depthMax) => {
        // Padding outweighs the shortcut for texts too short to be deep.
        const json = JSON.stringify(value) + " ".repeat(40);
        expect(isNestedDeeper(json, depthMax)).toBe(depthOf(value) > depthMax);
      }),
    );
  });

  test("ends on a text that is no JSON", () => {
    expect(isNestedDeeper(`"${"\\".repeat(999)}`, 10)).toBe(false);
    expect(isNestedDeeper("[".repeat(1_000_000), 100)).toBe(true);
  });
});

describe("negotiateMediaType", () => {
  const json = "application/json";
  const graphql = "application/graphql-response+json";
  test.each([
    [undefined, json],
    ["*/*", json],
    ["application/*", json],
    ["application/json; charset=utf-8", json],
    ["text/html, application/graphql-response+json;q=0.9, application/json", graphql],
    ["application/json, application/graphql-response+json", json],
    ["APPLICATION/JSON", json],
    ["application/graphql-response+json; charset=utf-16, application/json", json],
    ["text/html", null],
    ["application/json; charset=latin1", null],
  ])("%s is answered with %s", (accept, expected) => {
    expect(negotiateMediaType(accept)).toBe(expected);
  });
});
