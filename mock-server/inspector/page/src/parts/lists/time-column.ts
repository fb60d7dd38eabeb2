import { formatTimeNear } from "../../text/format.ts";
import type { ColumnWidths } from "./windowed-rows.tsx";

// A phone needs the width for what a row is about.
const timeOfDay: ColumnWidths = ["66px", "66px", null];
const dayAndTime: ColumnWidths = ["106px", "106px", null];

/** Wide enough for the dates, if one of the rows has another day than `nowMs`. @param times in order */
export function timeColumn(times: readonly string[], nowMs: number): ColumnWidths {
  const ends = [times[0], times.at(-1)].flatMap((at) => at ?? []);
  return ends.some((at) => formatTimeNear(at, nowMs).length > 8) ? dayAndTime : timeOfDay;
}
