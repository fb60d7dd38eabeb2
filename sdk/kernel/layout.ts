// How text is laid out in a terminal: the columns that it takes, and lines that end between words.

import { stripVTControlCharacters } from "node:util";

interface Column {
  /** Absent in a table without a head. */
  readonly title?: string;
  /** Left out when the table is too wide, the last one first. */
  readonly optional?: boolean;
  /** Shortened when the table is too wide, before others are left out, the last one first; a number is its least width. */
  readonly flexible?: boolean | number;
  /** Shortened first, to this width: the end of its cells stays, which tells long ids apart. */
  readonly keepsEnd?: number;
  readonly paint?: ((cell: string) => string) | undefined;
}

const gap = 2;
const flexibleMin = 12;

/** Aligned columns, no line wider than `width`: a cell is shortened, a column is left out. Ends with a line break. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const shown = columns.map((column, index) => {
    const cells = rows.map((row) => row[index] ?? "");
    // Not by a spread of all cells: a call takes 100,000 arguments at most.
    const own = cells.reduce((width, cell) => Math.max(width, widthOf(cell)), widthOf(column.title ?? ""));
    return { ...column, cells, width: own };
  });
  const fitted = fitColumns(
    shown.filter(({ width: own }) => own > 0),
    width,
  );
  const line = (cellOf: (column: (typeof fitted)[number]) => string) =>
    `${fitted.map(cellOf).join(" ".repeat(gap)).trimEnd()}\n`;
  const head = columns.some(({ title }) => title !== undefined)
    ? line((column) => padEnd(shorten(column.title ?? "", column.width), column.width))
    : "";
  const body = rows.map((_, index) =>
    line(({ cells, paint = (cell) => cell, ...column }) => {
      const cell = (column.keepsEnd ? shortenStart : shorten)(cells[index] ?? "", column.width);
      return paint(cell) + " ".repeat(column.width - widthOf(cell));
    }),
  );
  return head + body.join("");
}

interface Sized extends Column {
  readonly width: number;
}

function fitColumns<Shown extends Sized>(all: readonly Shown[], width: number): readonly Shown[] {
  const columns = shortenIds(all, width);
  const excess = excessOf(columns, width);
  if (excess <= 0) return columns;
  const flexible = columns.findLastIndex((column) => column.flexible);
  const optional = columns.findLastIndex((column) => column.optional);
  const column = columns[flexible];
  const least = typeof column?.flexible === "number" ? column.flexible : flexibleMin;
  const left = (column?.width ?? 0) - excess;
  if (optional >= 0 && left < least) return fitColumns(all.toSpliced(optional, 1), width);
  if (column === undefined) return columns;
  // What it cannot give is taken from the one before it.
  const isFirst = !columns.slice(0, flexible).some((before) => before.flexible);
  const own = isFirst || left >= least ? Math.max(1, left) : Math.min(column.width, least);
  return fitColumns(columns.with(flexible, { ...column, flexible: false, width: own }), width);
}

/** Columns of ids, as far as the width requires, each to its least width; the last one first. */
function shortenIds<Shown extends Sized>(columns: readonly Shown[], width: number): readonly Shown[] {
  const shortened = [...columns];
  for (let index = columns.length - 1; index >= 0; index--) {
    const column = shortened[index] as Shown;
    const excess = excessOf(shortened, width);
    if (column.keepsEnd === undefined || excess <= 0) continue;
    const least = Math.min(column.width, Math.max(column.keepsEnd, widthOf(column.title ?? "")));
    shortened[index] = Object.assign({}, column, { width: Math.max(least, column.width - excess) });
  }
  return shortened;
}

const excessOf = (columns: readonly Sized[], width: number) =>
  columns.reduce((sum, column) => sum + column.width + gap, -gap) - width;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const ascii = /^[\x20-\x7e]*$/;
const doubleWidth =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const noWidth = /^[\p{M}\p{Cf}]/u;

/** Columns that a line takes in a terminal, without its colours. */
export function widthOf(line: string): number {
  const shown = stripVTControlCharacters(line);
  if (ascii.test(shown)) return shown.length;
  let width = 0;
  for (const { segment } of graphemes.segment(shown)) width += columnsOf(segment);
  return width;
}

const columnsOf = (grapheme: string) => (doubleWidth.test(grapheme) ? 2 : noWidth.test(grapheme) ? 0 : 1);

export const padEnd = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));

/** The start of a text without colours, and `…` for the rest: whole words, where they fill half of the width. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = "";
  for (const { segment } of graphemes.segment(text)) {
    if (widthOf(shown + segment) >= width) break;
    shown += segment;
  }
  const words = /^.*(?= )/.exec(text.slice(0, shown.length + 1))?.[0] ?? "";
  return `${widthOf(words) >= width / 2 ? words : shown}…`;
}

/** `…` and the end of a text without colours. */
function shortenStart(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const segments = [...graphemes.segment(text)].map(({ segment }) => segment);
  while (segments.length > 0 && widthOf(segments.join("")) >= width) segments.shift();
  return `…${segments.join("")}`;
}

/** Lines that end between words. A word that is wider, such as a URL, keeps a line of its own: it can be copied. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || widthOf(line) + 1 + widthOf(word) > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.map((line) => line.trimEnd());
}

/** A text behind a label; its further lines begin where the first does. */
export function wrapBehind(label: string, text: string, width: number): string {
  const indent = widthOf(label);
  return label + wrap(text, Math.max(1, width - indent)).join(`\n${" ".repeat(indent)}`);
}

/** Wraps the lines that are wider; the rest of each is indented further by `hanging` columns. */
export function wrapLines(text: string, width: number, hanging = 2): string {
  const fitLine = (line: string) => {
    if (widthOf(line) <= width) return line;
    const indent = /^ */.exec(line)?.[0] ?? "";
    const room = Math.max(1, width - indent.length - hanging);
    return indent + wrap(line.slice(indent.length), room).join(`\n${indent}${" ".repeat(hanging)}`);
  };
  return text.split("\n").map(fitLine).join("\n");
}

/** Paragraphs that were written with line breaks of their own; a line that begins with a space stays one. */
export const reflow = (text: string, width: number): string =>
  wrapLines(text.replace(/(?<=\S)\n(?=\S)/g, " "), width, 0);

/** A stream as far as its layout depends on it. */
export interface TextStream {
  /** Columns of the terminal; absent when the stream is none. */
  readonly columns?: number | undefined;
}

const proseColumnsMax = 80;

/** Columns for lines and tables: without a terminal there is no limit, as programs read them. */
export const lineWidth = ({ columns }: TextStream): number =>
  // A pseudo-terminal that was not given a size says 0.
  columns === undefined ? Number.POSITIVE_INFINITY : columns || proseColumnsMax;

/** Columns for sentences: at most 80. */
export const proseWidth = (stream: TextStream): number => Math.min(lineWidth(stream), proseColumnsMax);

const codes = { bold: 1, dim: 2, bad: 31, good: 32, warning: 33, info: 36 } as const;

export type Tone = keyof typeof codes;
export type Paint = (text: string, tone: Tone) => string;

interface ColorSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY?: boolean | undefined;
}

/** Colours on a terminal, unless `NO_COLOR` is set or the terminal is `dumb`. */
export const usesColor = ({ env, isTTY }: ColorSource): boolean =>
  isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";

export const painter =
  (color: boolean): Paint =>
  (text, tone) =>
    color && text !== "" ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text;

const units = [
  ["d", 86_400_000, 2],
  ["h", 3_600_000, 2],
  ["min", 60_000, 1],
  ["s", 1_000, 1],
] as const;

/** `3 ms`, `12 s`, `5 min`, `30 h`, `3 d`: the largest unit of which there are enough to lose little. */
export function durationText(ms: number): string {
  for (const [unit, unitMs, least] of units) {
    if (ms >= unitMs * least) return `${Math.round(ms / unitMs)} ${unit}`;
  }
  return `${Math.max(0, Math.round(ms))} ms`;
}
