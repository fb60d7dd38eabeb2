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
  if (order === "desc") all.reverse();
  const isAfterCursor = (item: Item) => {
    const position = positionOf(item);
    const cursor = typeof position === "number" ? Number(iterator) : (iterator ?? "");
    return order === "asc" ? position > cursor : position < cursor;
  };
  const found: Item[] = [];
  for (const item of all) {
    if ((iterator === undefined || isAfterCursor(item)) && matches(item)) found.push(item);
    if (found.length > limit) break;
  }
  const data = found.slice(0, limit);
  const last = data.at(-1);
  const done = found.length <= limit || last === undefined;
  return { data: data.map(view), done, iterator: done ? null : String(positionOf(last)) };
}
