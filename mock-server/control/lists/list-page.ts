import { MockServerError } from "../../errors.ts";
import type { Page } from "../contract/fields.ts";

export interface PageQuery {
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
