import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visible, visibleLines, visibleOutput } from "../../../../sdk/kernel/visible.ts";

const hostile = "\u001b]0;title\u0007\r\nline\u2028\u202eltr\u2066\u200b\u009b\ud800\u{e0041}\u0000";

describe("texts of others", () => {
  it("are shown as one line without a character that a terminal obeys or hides", () => {
    expect(visible(hostile)).toBe(
      "\\u001b]0;title\\u0007\\r\\nline\\u2028\\u202eltr\\u2066\\u200b\\u009b\\ud800\\udb40\\udc41\\u0000",
    );
  });

  it("keep line feeds and tabs where they are shown as lines, and no carriage return", () => {
    expect(visibleLines("a\tb\nc\rd\u001b")).toBe("a\tb\nc\\u000dd\\u001b");
  });

  it.each(['plain text, "quoted" \\ / ', "Zoë 東京 👩‍👩‍👧 🇪🇸 نص עברית"])("stay as they are: %s", (text) => {
    expect(visible(text)).toBe(text);
    expect(visibleLines(text)).toBe(text);
  });

  it("have none of these characters, whatever they are, and are shown alike when they are shown again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = visible(text);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u);
        expect(visible(shown)).toBe(shown);
      }),
    );
  });
});

describe("what a program writes", () => {
  it("has its own colours, and a line that overwrites itself, and nothing else that a terminal obeys", () => {
    const own = "\r\u001b[K\u001b[31mbad\u001b[0m\tand\n";
    expect(visibleOutput(own)).toBe(own);
    expect(visibleOutput("\r\u001b[2J\u001b]0;x\u0007\u001b[8mhidden\u202e")).toBe(
      "\\u000d\\u001b[2J\\u001b]0;x\\u0007\\u001b[8mhidden\\u202e",
    );
  });

  it("means the same where it is JSON", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(JSON.parse(visibleOutput(JSON.stringify({ text }, null, 2)))).toEqual({ text });
      }),
    );
  });
});
