// What runs of the chaos matrix found.

import { type CellReport, isFlawless } from "./run-cell.ts";

/** A run: its report, or the error that ended it. */
export interface Run {
  readonly date: string;
  readonly commit: string;
  readonly cell: string;
  readonly seed: number;
  readonly rejectsNothing: boolean;
  readonly report?: CellReport | undefined;
  readonly error?: string | undefined;
}

export interface CellSummary {
  readonly cell: string;
  readonly runs: number;
  /** Such as `1–10`. */
  readonly seeds: string;
  readonly acknowledged: number;
  readonly rejected: number;
  readonly lost: number;
  readonly twice: number;
  readonly wrong: number;
  /** Runs that ended with an error, or rejected a delivery that may not be rejected. */
  readonly failed: number;
  /** The longest of all runs. */
  readonly acceptPauseMs: number;
  readonly handlePauseMs: number;
}

export const isGood = ({ report, rejectsNothing }: Run): boolean =>
  report !== undefined && isFlawless(report, { rejectsNothing });

/** In the order of the first run of each cell. */
export function summarize(runs: readonly Run[]): readonly CellSummary[] {
  const cells = [...new Set(runs.map(({ cell }) => cell))];
  return cells.map((cell) => {
    const own = runs.filter((run) => run.cell === cell);
    const reports = own.flatMap(({ report }) => report ?? []);
    const sum = (field: "acknowledged" | "rejected" | "lost" | "twice" | "wrong") =>
      reports.reduce((total, report) => total + report[field], 0);
    const longest = (field: "acceptPauseMs" | "handlePauseMs") =>
      Math.round(Math.max(0, ...reports.map((report) => report[field])));
    const flawed = reports.filter(({ lost, twice, wrong }) => lost + twice + wrong > 0).length;
    return {
      ...{
        cell,
        runs: own.length,
        seeds: seedsOf(own),
        acknowledged: sum("acknowledged"),
        rejected: sum("rejected"),
      },
      ...{ lost: sum("lost"), twice: sum("twice"), wrong: sum("wrong") },
      failed: own.filter((run) => !isGood(run)).length - flawed,
      ...{ acceptPauseMs: longest("acceptPauseMs"), handlePauseMs: longest("handlePauseMs") },
    };
  });
}

function seedsOf(runs: readonly Run[]): string {
  const seeds = runs.map(({ seed }) => seed);
  const [first, last] = [Math.min(...seeds), Math.max(...seeds)];
  return first === last ? String(first) : `${first}–${last}`;
}

const header = [
  ...["what breaks", "seeds", "acknowledged", "rejected", "lost", "twice", "wrong"],
  ...["accepts after", "handles after"],
];

/** Without a column for failed runs, unless there is one. */
export function chaosTable(summaries: readonly CellSummary[]): string {
  const hasFailed = summaries.some(({ failed }) => failed > 0);
  const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const rows = summaries.map((summary) => {
    const { cell, seeds, acknowledged, rejected, lost, twice, wrong, failed } = summary;
    const counts = [acknowledged, rejected, lost, twice, wrong].map((count) => count.toLocaleString("en"));
    const pauses = [inSeconds(summary.acceptPauseMs), inSeconds(summary.handlePauseMs)];
    return [cell, seeds, ...counts, ...pauses, ...(hasFailed ? [String(failed)] : [])];
  });
  const titles = [...header, ...(hasFailed ? ["failed"] : [])];
  const rule = titles.map((_, column) => (column === 0 ? "---" : "---:"));
  return [titles, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}
