import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { MockServerError } from "../errors.ts";
import { barsDefault } from "../settings/settings.ts";
import { isoTime } from "../time/duration.ts";
import type { Page } from "./fields.ts";

interface PageQuery {
  readonly order?: "asc" | "desc" | undefined;
  readonly limit?: number | undefined;
  readonly iterator?: string | undefined;
}

const limitDefault = 100;

/**
 * A page of records that are in order of creation. The cursor is the position of the last record of the page
 * before; positions ascend, so records that are added meanwhile move no page.
 * @throws MockServerError QUERY_INVALID for a cursor that no page of this list can have had
 */
export function listPage<Item, View>(
  items: Iterable<Item>,
  query: PageQuery,
  options: {
    readonly positionOf: (item: Item) => string | number;
    readonly matches?: (item: Item) => boolean;
    readonly view: (item: Item) => View;
  },
): Page<View> {
  const { order = "asc", limit = limitDefault, iterator } = query;
  const { positionOf, matches = () => true, view } = options;
  const all = [...items];
  const newest = all.at(-1);
  const cursor =
    iterator === undefined ? null : checkedCursor(iterator, newest === undefined ? "" : positionOf(newest));
  if (order === "desc") all.reverse();
  const isAfterCursor = (item: Item) =>
    cursor === null || (order === "asc" ? positionOf(item) > cursor : positionOf(item) < cursor);
  const found: Item[] = [];
  for (const item of all) {
    if (isAfterCursor(item) && matches(item)) found.push(item);
    if (found.length > limit) break;
  }
  const data = found.slice(0, limit);
  const last = data.at(-1);
  const done = found.length <= limit || last === undefined;
  return { data: data.map(view), done, iterator: done ? null : String(positionOf(last)) };
}

/** A cursor of the records before a reset lies behind the newest one: an empty page would end the reader's loop. */
function checkedCursor(iterator: string, newest: string | number): string | number {
  const isNumber = typeof newest === "number";
  const isWellFormed = (isNumber ? /^[1-9]\d{0,14}$/ : /^[0-9a-f-]{36}$/).test(iterator);
  const cursor = isNumber ? Number(iterator) : iterator;
  if (isWellFormed && cursor <= newest) return cursor;
  const issue = { path: "iterator", message: "Invalid iterator" };
  throw new MockServerError("QUERY_INVALID", `${issue.path}: ${issue.message}`, { issues: [issue] });
}

/** Whether one of the texts contains `text`, in either case. */
export type TextMatch = (...texts: readonly (string | null | undefined)[]) => boolean;

/** `undefined` is in every text. */
export function createTextMatch(text = ""): TextMatch {
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  return (...texts) => texts.some((each) => each != null && pattern.test(each));
}

/** What became of a delivery so far; in this order they are stacked. */
export const deliveryOutcomes = ["delivered", "rejected", "waiting", "cancelled"] as const;
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** What became of a request, in the order in which they are stacked. */
export const requestResults = ["succeeded", "limited", "rejected", "faulty"] as const;

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
  let firstMs = items[0]?.atMs ?? 0;
  let lastMs = firstMs;
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
