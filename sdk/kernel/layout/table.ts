import { padEnd, shorten, shortenStart, widthOf } from "./text.ts";

export interface Column {
  /** Absent in a table without a head. */
  readonly title?: string;
  /** Left out when the table is too wide, the last one first. */
  readonly optional?: boolean;
  /** Shortened when the table is too wide, before others are left out; a number is its least width. */
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
  const least = Number(columns[flexible]?.flexible);
  const left = (columns[flexible]?.width ?? 0) - excess;
  if (flexible >= 0 && (left >= (least > 1 ? least : flexibleMin) || optional < 0)) {
    return columns.with(flexible, { ...(columns[flexible] as Shown), width: Math.max(1, left) });
  }
  return optional < 0 ? columns : fitColumns(all.toSpliced(optional, 1), width);
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
