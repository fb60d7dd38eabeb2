import { describe, expect, it } from "vitest";
import * as layout from "../../../../sdk/kernel/layout.ts";

const { padEnd, reflow, renderTable, shorten, widthOf, wrap, wrapBehind, wrapLines } = layout;

const columns = [
  { title: "ID" },
  { title: "STATE", paint: (state: string) => `<${state}>` },
  { title: "TRIES", optional: true },
  { title: "ERROR", flexible: true },
];
const rows = [
  ["one", "dead", "8", "Error: the client is not known"],
  ["three", "done", "1", ""],
];

it("a table is aligned, with painted cells, when it fits", () => {
  expect(renderTable(columns, rows, Number.POSITIVE_INFINITY)).toBe(
    "ID     STATE  TRIES  ERROR\none    <dead>   8      Error: the client is not known\nthree  <done>   1\n",
  );
});

it("what the last flexible column cannot give of its least width is taken from the one before it", () => {
  const two = [{}, { flexible: true }, {}, { flexible: 24 }];
  const tried = (url: string) => ["→", url, "500", "try 1 of 8, next in 5 s, no such table"];
  const lines = renderTable(two, [tried(`127.0.0.1/${"path/".repeat(20)}`), tried("127.0.0.1")], 60).split(
    "\n",
  );
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60);
  expect(lines[1]).toMatch(/^→ {2}127\.0\.0\.1 +500 {2}try 1 of 8, next in 5…$/);
});

it("a table that is too wide shortens the flexible column, and leaves optional ones out when that is not enough", () => {
  expect(renderTable(columns, rows, 40).split("\n")[1]).toBe("one    <dead>   8      Error: the client…");
  expect(renderTable(columns, rows, 30).split("\n").slice(0, 2)).toEqual([
    "ID     STATE  ERROR",
    "one    <dead>   Error: the…",
  ]);
});

it("a column without text is left out", () => {
  expect(renderTable([{}, {}, {}], [["a", "", "b"]], 80)).toBe("a  b\n");
});

it("a table may have more rows than a call has arguments", () => {
  const many = Array.from({ length: 200_000 }, () => ["a"]);
  expect(renderTable([{}], many, 80)).toHaveLength(many.length * "a\n".length);
});

it("a table that is too wide shortens ids first, to their ends", () => {
  const ids = [{ title: "ID", keepsEnd: 6 }, { title: "STATE" }, { title: "ERROR", flexible: 10 }];
  const table = (width: number) => renderTable(ids, [["019bc186-0001", "dead", "no such client"]], width);
  expect(table(36)).toBe("ID             STATE  ERROR\n019bc186-0001  dead   no such client\n");
  expect(table(30)).toBe("ID       STATE  ERROR\n…6-0001  dead   no such client\n");
  expect(table(25)).toBe("ID      STATE  ERROR\n…-0001  dead   no such…\n");
});

it.each([
  [{}, Number.POSITIVE_INFINITY, 80],
  [{ columns: 0 }, 80, 80],
  [{ columns: 60 }, 60, 60],
  [{ columns: 200 }, 200, 80],
])("a stream %j has %i columns for lines and %i for sentences", (stream, lines, sentences) => {
  expect([layout.lineWidth(stream), layout.proseWidth(stream)]).toEqual([lines, sentences]);
});

it.each([
  [{ env: {}, isTTY: true }, true],
  [{ env: {}, isTTY: false }, false],
  [{ env: { NO_COLOR: "1" }, isTTY: true }, false],
  [{ env: { TERM: "dumb" }, isTTY: true }, false],
])("%j has colours: %s", (source, expected) => {
  expect(layout.usesColor(source)).toBe(expected);
  expect(layout.painter(layout.usesColor(source))("text", "bad")).toBe(
    expected ? "\u001b[31mtext\u001b[0m" : "text",
  );
});

it.each([
  [-5, "0 ms"],
  [3.4, "3 ms"],
  [12_000, "12 s"],
  [300_000, "5 min"],
  [100 * 60_000, "100 min"],
  [30 * 3_600_000, "30 h"],
  [72 * 3_600_000, "3 d"],
])("%i ms are %s", (ms, text) => {
  expect(layout.durationText(ms)).toBe(text);
});

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
