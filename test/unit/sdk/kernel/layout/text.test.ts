import { describe, expect, it } from "vitest";
import {
  padEnd,
  reflow,
  shorten,
  widthOf,
  wrap,
  wrapBehind,
  wrapLines,
} from "../../../../../sdk/kernel/layout.ts";

describe("widthOf", () => {
  it.each([
    ["plain", 5],
    ["\u001b[31mred\u001b[0m", 3],
    ["税 é", 4],
    ["e\u0301", 1],
    ["🧾", 2],
    ["👩‍👩‍👧", 2],
    ["❤️", 2],
    ["a…→×", 4],
    ["", 0],
  ])("of %j is %i columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
    expect(widthOf(padEnd(text, 9))).toBe(9);
  });
});

describe("shorten", () => {
  it("keeps what fits, else whole words, or letters where the words are too short", () => {
    expect(shorten("as it is", 8)).toBe("as it is");
    expect(shorten("the client of the task", 14)).toBe("the client of…");
    expect(shorten("a-very-long-identifier", 8)).toBe("a-very-…");
    expect(widthOf(shorten("税税税税", 5))).toBeLessThanOrEqual(5);
  });
});

describe("wrap", () => {
  it("ends lines between words; a longer word has a line of its own", () => {
    expect(wrap("one two http://example.com/a/long/path three", 9)).toEqual([
      "one two",
      "http://example.com/a/long/path",
      "three",
    ]);
  });

  it("indents the rest of a text behind its label, and of a line by two columns more", () => {
    expect(wrapBehind("  fix  ", "one two three", 14)).toBe("  fix  one two\n       three");
    expect(wrapLines("  one two three\nshort", 11)).toBe("  one two\n    three\nshort");
  });

  it("joins the lines of a paragraph, and leaves what is indented", () => {
    expect(reflow("one\ntwo three\n\n  kept\n  too", 8)).toBe("one two\nthree\n\n  kept\n  too");
  });
});
