import { expect, it } from "vitest";
import { durationText, lineWidth, painter, proseWidth, usesColor } from "../../../../../sdk/kernel/layout.ts";

it.each([
  [{}, Number.POSITIVE_INFINITY, 80],
  [{ columns: 0 }, 80, 80],
  [{ columns: 60 }, 60, 60],
  [{ columns: 200 }, 200, 80],
])("a stream %j has %i columns for lines and %i for sentences", (stream, lines, sentences) => {
  expect([lineWidth(stream), proseWidth(stream)]).toEqual([lines, sentences]);
});

it.each([
  [{ env: {}, isTTY: true }, true],
  [{ env: {}, isTTY: false }, false],
  [{ env: { NO_COLOR: "1" }, isTTY: true }, false],
  [{ env: { TERM: "dumb" }, isTTY: true }, false],
])("%j has colours: %s", (source, expected) => {
  expect(usesColor(source)).toBe(expected);
  expect(painter(usesColor(source))("text", "bad")).toBe(expected ? "\u001b[31mtext\u001b[0m" : "text");
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
  expect(durationText(ms)).toBe(text);
});
