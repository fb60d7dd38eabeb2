import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { barsDefault } from "../../settings/settings.ts";
import { isoTime } from "../../time/duration.ts";

export interface TimeRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Whether a time is in a range; an absent end does not limit it. */
export function createRangeFilter({ from, to }: TimeRange): (atMs: number) => boolean {
  const fromMs = from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from);
  const toMs = to === undefined ? Number.POSITIVE_INFINITY : Date.parse(to);
  return (atMs) => atMs >= fromMs && atMs < toMs;
}

/** How many items of each series there are per interval: the shortest usual one with which they fit into the bars. */
export function countByTime<Series extends string>(
  items: readonly { readonly atMs: number; readonly series: Series }[],
  series: readonly Series[],
  { from, to, bars = barsDefault }: TimeRange & { readonly bars?: number | undefined },
) {
  const { firstMs, lastMs } = extentOf(items);
  const startMs = from === undefined ? firstMs : Date.parse(from);
  const endMs = Math.max(startMs, to === undefined ? lastMs : Date.parse(to) - 1);
  const barMs = barMsFor(startMs, endMs, bars);
  const fromMs = Math.floor(startMs / barMs) * barMs;
  const counts = new Map<number, Record<Series, number>>();
  for (const { atMs, series: name } of items) {
    const index = Math.floor((atMs - fromMs) / barMs);
    getOrCreate(counts, index, () => emptyCounts(series))[name]++;
  }
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return { from: isoTime(fromMs), barMs, bars: sorted.map(([index, counts]) => ({ index, counts })) };
}

const emptyCounts = <Series extends string>(series: readonly Series[]) =>
  Object.fromEntries(series.map((name) => [name, 0])) as Record<Series, number>;

/** Not by a spread of all times: a call takes 100,000 arguments at most. */
function extentOf(items: readonly { readonly atMs: number }[]) {
  let [firstMs, lastMs] = [items[0]?.atMs ?? 0, items[0]?.atMs ?? 0];
  for (const { atMs } of items) {
    firstMs = Math.min(firstMs, atMs);
    lastMs = Math.max(lastMs, atMs);
  }
  return { firstMs, lastMs };
}

const dayMs = 86_400_000;
const usualSeconds = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600,
];

function barMsFor(startMs: number, endMs: number, bars: number): number {
  const fits = (barMs: number) => Math.floor(endMs / barMs) - Math.floor(startMs / barMs) < bars;
  const usual = usualSeconds.map((seconds) => seconds * 1_000).find(fits);
  if (usual !== undefined) return usual;
  let days = 1;
  while (!fits(days * dayMs)) days *= 2;
  return days * dayMs;
}
