import { padEnd, shorten, widthOf } from "./text.ts";

export interface Column {
  /** Absent in a table without a head. */
  readonly title?: string;
  /** Left out when the table is too wide, the last one first. */
  readonly optional?: boolean;
  /** Shortened when the table is too wide, before others are left out. */
  readonly flexible?: boolean;
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
      const cell = shorten(cells[index] ?? "", column.width);
      return paint(cell) + " ".repeat(column.width - widthOf(cell));
    }),
  );
  return head + body.join("");
}

interface Sized extends Column {
  readonly width: number;
}

function fitColumns<Shown extends Sized>(columns: readonly Shown[], width: number): readonly Shown[] {
  const excess = columns.reduce((sum, column) => sum + column.width + gap, -gap) - width;
  if (excess <= 0) return columns;
  const flexible = columns.findLastIndex((column) => column.flexible);
  const optional = columns.findLastIndex((column) => column.optional);
  const left = (columns[flexible]?.width ?? 0) - excess;
  if (flexible >= 0 && (left >= flexibleMin || optional < 0)) {
    return columns.with(flexible, { ...(columns[flexible] as Shown), width: Math.max(1, left) });
  }
  return optional < 0 ? columns : fitColumns(columns.toSpliced(optional, 1), width);
}
