import { describe, expect, it } from "vitest";
import { parseJsonText } from "../../../../sdk/kernel/json.ts";

describe("parseJsonText", () => {
  it("reads a file with a byte order mark", () => {
    expect(parseJsonText('\ufeff{ "a": [1] }\n')).toEqual({ a: [1] });
  });

  it.each([
    ["an unexpected sign", '{\n  "a": 1,\n  "b": }\n}\n', 3],
    ["a comma too much", '{\n  "a": 1,\n}\n', 3],
    ["a comma missing", '{\n  "a": 1\n  "b": 2\n}\n', 3],
    ["a line break in a string", '{\n  "a": "x\n",\n "b": 1 }', 2],
    ["text behind the value", "{}\n\nx\n", 3],
    ["a comment", '{\n  // why\n  "a": 1\n}', 2],
    ["an end too early", '{\n  "a": 1,\n', 3],
    ["nothing", "", 1],
  ])("names the line of %s", (_, text, line) => {
    expect(() => parseJsonText(text)).toThrow(new RegExp(`^line ${line}: `));
  });
});
