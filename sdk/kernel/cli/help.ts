import { wrapBehind } from "../layout/text.ts";
import { type FlagTable, flagName } from "./flags.ts";

export type HelpRow = readonly [left: string, about: string];

/** Two columns; the second wraps. A long name has its text below it. */
export function helpRows(rows: readonly HelpRow[], width: number): string {
  const column = Math.min(Math.max(...rows.map(([left]) => left.length)), Math.floor(width / 2));
  const indent = " ".repeat(column + 4);
  const rowOf = ([left, about]: HelpRow) =>
    left.length > column
      ? `  ${left}\n${wrapBehind(indent, about, width)}\n`
      : `${wrapBehind(`  ${left.padEnd(column)}  `, about, width)}\n`;
  return rows.map(rowOf).join("");
}

export function flagRows(table: FlagTable): readonly HelpRow[] {
  return Object.entries(table).map(([name, { placeholder, about }]) => [
    [flagName(name), placeholder].filter(Boolean).join(" "),
    about,
  ]);
}
