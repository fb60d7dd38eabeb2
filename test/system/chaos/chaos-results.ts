// What runs of the chaos matrix found.

import { type CellReport, isFlawless } from "./run-cell.ts";

/** A run: its report, or the error that ended it. */
export interface Run {
  readonly cell: string;
  readonly seed: number;
  readonly rejectsNothing: boolean;
  readonly report?: CellReport | undefined;
  readonly error?: string | undefined;
}

export const isGood = ({ report, rejectsNothing }: Run): boolean =>
  report !== undefined && isFlawless(report, { rejectsNothing });

/** A row for each cell, in the order of their first runs. The pauses are the longest of all runs. */
export function chaosTable(runs: readonly Run[]): string {
  const cells = [...new Set(runs.map(({ cell }) => cell))];
  const rows = cells.map((cell) => {
    const own = runs.filter((run) => run.cell === cell);
    const reports = own.flatMap(({ report }) => report ?? []);
    const sums = counts.map((name) =>
      reports.reduce((sum, report) => sum + report[name], 0).toLocaleString("en"),
    );
    const longest = pauses.map((name) => Math.max(0, ...reports.map((report) => report[name])));
    const bad = own.filter((run) => !isGood(run)).length;
    return [cell, own.length, ...sums, bad, ...longest.map((ms) => `${(ms / 1_000).toFixed(1)} s`)];
  });
  const rule = titles.map((_, column) => (column === 0 ? "---" : "---:"));
  return [titles, rule, ...rows].map((columns) => `| ${columns.join(" | ")} |\n`).join("");
}

const counts = ["acknowledged", "rejected", "lost", "twice", "wrong"] as const;
const pauses = ["acceptPauseMs", "handlePauseMs"] as const;
const titles = ["what breaks", "runs", ...counts, "failed runs", "accepts after", "handles after"];
