// How text is laid out in a terminal: the columns that it takes, and lines that end between words.

import { stripVTControlCharacters } from "node:util";

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
export function shortenStart(text: string, width: number): string {
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
