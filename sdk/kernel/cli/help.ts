import { type FlagTable, flagName } from "./flags.ts";

const columns = 80;

export type HelpRow = readonly [left: string, about: string];

/** Two columns; the second wraps at the width of a terminal. */
export function helpRows(rows: readonly HelpRow[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  const indent = " ".repeat(width + 4);
  return rows
    .map(([left, about]) => {
      const lines = wrap(about, columns - indent.length);
      return `  ${left.padEnd(width)}  ${lines.join(`\n${indent}`)}\n`;
    })
    .join("");
}

export function flagRows(table: FlagTable): readonly HelpRow[] {
  return Object.entries(table).map(([name, { placeholder, about }]) => [
    [flagName(name), placeholder].filter(Boolean).join(" "),
    about,
  ]);
}

export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
