import type { Spread } from "./statistics.ts";

export interface Benchmark {
  readonly title: string;
  /** Shown with the answer at the top of the page. */
  readonly question: string;
  readonly answer: (result: Result) => string;
  /** What is compared with what, and how. */
  readonly about: string;
  /** Why a goal is missed, why a line bends, what a number leaves out. */
  readonly notes?: readonly string[] | undefined;
  readonly measure: (options: MeasureOptions) => Promise<Result>;
}

export interface MeasureOptions {
  /** Fewer and shorter rounds: shows that everything runs, not how fast. */
  readonly quick: boolean;
}

/** What a benchmark measures. The page can be written again from it without another measurement. */
export interface Result {
  readonly goals: readonly Goal[];
  readonly tables: readonly Table[];
}

export interface RecordedResult extends Result {
  readonly machine: Machine;
}

export interface Goal {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  /** Load average over one minute at the start and at the end. */
  readonly load: readonly [number, number];
}

/** The cell of the first table that has this row and this column. */
export function cellOf({ tables }: Result, row: string, column: string): string {
  for (const { columns, rows } of tables) {
    const cell = rows.find(([name]) => name === row)?.[columns.indexOf(column)];
    if (cell !== undefined) return cell;
  }
  throw new Error(`no table has the row ${JSON.stringify(row)} and the column ${JSON.stringify(column)}`);
}

export function measuredFor({ goals }: Result, what: string): string {
  const goal = goals.find((each) => each.what === what);
  if (!goal) throw new Error(`no goal is named ${JSON.stringify(what)}`);
  return goal.measured;
}

/** A table with one row per key. */
export const tableOf = <Key>(
  columns: readonly string[],
  keys: readonly Key[],
  rowOf: (key: Key) => readonly string[],
): Table => ({ columns, rows: keys.map(rowOf) });

/** Three significant digits, with thousands separators. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `3.9 × (3.7–4.1)`. */
export function times({ median, low, high }: Spread): string {
  return `${number(median)} × (${number(low)}–${number(high)})`;
}

/** `12.3 (11.9–13.0)`. */
export function spread({ median, low, high }: Spread): string {
  return `${number(median)} (${number(low)}–${number(high)})`;
}

export const goal = (what: string, target: string, measured: string, met: boolean): Goal => ({
  what,
  target,
  measured,
  met,
});

export function atLeast(what: string, target: number, measured: Spread, unit = "×"): Goal {
  return goal(what, `≥ ${target} ${unit}`, `${spread(measured)} ${unit}`, measured.median >= target);
}

export function atMost(what: string, target: number, measured: Spread, unit: string): Goal {
  return goal(what, `≤ ${target} ${unit}`, `${spread(measured)} ${unit}`, measured.median <= target);
}
