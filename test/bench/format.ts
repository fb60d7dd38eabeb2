import type { Goal } from "./benchmark.ts";
import type { Spread } from "./statistics.ts";

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
