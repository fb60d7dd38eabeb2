import { h } from "preact";
import { formatExact, formatTimeNear } from "../../text/format.ts";
import { type Column, column } from "./windowed-rows.tsx";

/** When something happened, wide enough for dates if the first or last row has another day than `nowMs`. */
export function timeColumn<Row>(
  title: string,
  rows: readonly Row[],
  timeOf: (row: Row) => string,
  nowMs: number,
): Column<Row> {
  const textOf = (row: Row) => formatTimeNear(timeOf(row), nowMs);
  const hasDates = [rows[0], rows.at(-1)].some((row) => row && textOf(row).length > 8);
  const width = hasDates ? "106px" : "66px";
  const cell = (row: Row) => h("span", { title: formatExact(timeOf(row)) }, textOf(row));
  // A phone needs the width for what a row is about.
  return column(title, [width, width, null], cell, { class: "muted", value: timeOf });
}
