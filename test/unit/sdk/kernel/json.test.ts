import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isNestedDeeper, jsonOrUndefined, parseJson, parseJsonText } from "../../../../sdk/kernel/json.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("isNestedDeeper", () => {
  it("agrees with the depth of the parsed value for strings with any content", () => {
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

  it.each([
    ["[]", 1, false],
    ["[]", 0, true],
    ["{}", 0, true],
    ["[[", 1, true],
    ["[", 1, false],
    ["[[]]", 2, false],
    ["[{}]", 1, true],
    ["[][][]", 1, false],
    ["{}{}{}", 1, false],
    ['["[["]', 1, false],
    ['["\\"[["]', 1, false],
    ['["\\\\",[[]]]', 2, true],
    ['""[[', 1, true],
    ['"a"[[', 1, true],
    ['"a[', 0, false],
    ["", 0, false],
  ])("returns for %s and the depth %i: %s", (json, depthMax, expected) => {
    expect(isNestedDeeper(json, depthMax)).toBe(expected);
  });

  it("returns for a text that is not JSON", () => {
    expect(isNestedDeeper(`"${"\\".repeat(999)}`, 10)).toBe(false);
    expect(isNestedDeeper("[".repeat(1_000_000), 100)).toBe(true);
  });
});

describe("parseJson", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  it("reads a document of at most the depth, in UTF-8", () => {
    expect(parseJson(bytes('[["é"]]'), 2)).toEqual([["é"]]);
    expect(() => parseJson(bytes("[[[]]]"), 2)).toThrow(new RangeError("nested more than 2 levels deep"));
    expect(() => parseJson(Uint8Array.of(0x22, 0xe9, 0x22), 2)).toThrow(TypeError);
  });
});

it("what is no JSON is undefined", () => {
  expect(jsonOrUndefined("[1]")).toEqual([1]);
  expect(jsonOrUndefined("[1")).toBeUndefined();
});

describe("parseJsonText", () => {
  it("reads a file with a byte order mark", () => {
    expect(parseJsonText('\ufeff{ "a": [1] }\n')).toEqual({ a: [1] });
    expect(parseJsonText('{ "a": "\ufeff" }')).toEqual({ a: "\ufeff" });
  });

  it("passes the error of the parser on as the cause", () => {
    expect(() => parseJsonText("{")).toThrow(expect.objectContaining({ cause: expect.any(SyntaxError) }));
  });

  it.each([
    ["an unexpected sign", '{\n  "a": 1,\n  "b": }\n}\n', 3],
    ["a comma too much", '{\n  "a": 1,\n}\n', 3],
    ["a comma missing", '{\n  "a": 1\n  "b": 2\n}\n', 3],
    ["a line break in a string", '{\n  "a": "x\n",\n "b": 1 }', 2],
    ["text behind the value", "{}\n\nx\n", 3],
    ["a comment", '{\n  // why\n  "a": 1\n}', 2],
    ["an end too early", '{\n  "a": 1,\n', 3],
    ["a list without an end", "[\n  1,\n", 3],
    ["nothing", "", 1],
  ])("names the line of %s", (_, text, line) => {
    expect(() => parseJsonText(text)).toThrow(new RegExp(`^line ${line}: `));
  });
});
