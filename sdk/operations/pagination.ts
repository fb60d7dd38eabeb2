// A list is read page by page while the service changes it. Items that are added or removed between two pages move the
// others, so the next page of an offset list can repeat items, or begin behind some that were never returned. Ids tell
// both: an item is returned once, and a page that continues an offset list begins with an item that was returned before.

import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallMeta, Check } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { checkInput } from "../validation.ts";

export interface Page<Item, Cursor> {
  readonly items: readonly Item[];
  /** Where the next page begins, usable as a checkpoint; `null` on the last page. */
  readonly next: Cursor | null;
  readonly meta: CallMeta;
}

/**
 * A list that is fetched while it is read. Each iteration starts again at the beginning and returns an item once. `await`
 * resolves to the first page; so does an async function that returns a list. The call options of `list` apply to the
 * request of each page. An invalid option rejects the first page.
 */
export interface PagedList<Item, Cursor> extends AsyncIterable<Item>, PromiseLike<Page<Item, Cursor>> {
  /** The pages, for checkpoints: a later `list` continues from a page's `next`. */
  pages(): AsyncGenerator<Page<Item, Cursor>, void, undefined>;
  /** All items in an array, at most `maxItems` of them (default: no limit). Stops fetching once it has enough. */
  toArray(options?: { readonly maxItems?: number | undefined }): Promise<Item[]>;
}

/** One reading of a list. */
export interface PageReader<Item, Cursor> {
  /** The cursor of the first page. */
  readonly start: Cursor | null;
  /** @param seen the ids of the items returned so far */
  fetchPage(cursor: Cursor | null, seen: ReadonlySet<string>): Promise<Page<Item, Cursor>>;
}

// Items added while a list is read may fill some pages with items that were returned before. A service that does not
// continue, whatever cursor it gets, fills all of them.
const pagesWithoutNewItemMax = 10;

const toArrayInput = s.strictObject(
  {
    maxItems: s.withDefault(
      s.refineNumber(
        "a whole number of at least 0, or Infinity",
        (value) => value >= 0 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY),
      ),
      Number.POSITIVE_INFINITY,
    ),
  },
  { limit: "did you mean maxItems?" },
);

/**
 * A list whose pages come from what `open` returns, which is called for each iteration and checks the input.
 *
 * @param method the client's method, as messages name it
 */
export function createPagedList<Item extends { readonly id: string }, Cursor>(
  method: string,
  open: (check: Check) => PageReader<Item, Cursor>,
): PagedList<Item, Cursor> {
  async function* pages(): AsyncGenerator<Page<Item, Cursor>, void, undefined> {
    const { start, fetchPage } = open((schema, input) => checkInput(method, schema, input));
    const seen = new Set<string>();
    let withoutNewItem = 0;
    let cursor = start;
    do {
      const page = await fetchPage(cursor, seen);
      const items = page.items.filter(({ id }) => !seen.has(id) && seen.add(id));
      cursor = page.next;
      withoutNewItem = items.length > 0 ? 0 : withoutNewItem + 1;
      if (cursor !== null && withoutNewItem === pagesWithoutNewItemMax) throw stalled(method);
      yield { ...page, items };
    } while (cursor !== null);
  }

  async function* items(): AsyncGenerator<Item, void, undefined> {
    for await (const page of pages()) yield* page.items;
  }

  async function firstPage(): Promise<Page<Item, Cursor>> {
    // The first page always exists.
    return (await pages().next()).value as Page<Item, Cursor>;
  }

  return {
    pages,
    [Symbol.asyncIterator]: items,
    // biome-ignore lint/suspicious/noThenProperty: awaited by mistake, a list without it would be returned as it is.
    then: (onFulfilled, onRejected) => firstPage().then(onFulfilled, onRejected),
    async toArray(options = {}) {
      const { maxItems } = checkInput(`${method}: toArray`, toArrayInput, options);
      const all: Item[] = [];
      if (maxItems < 1) return all;
      for await (const item of items()) {
        all.push(item);
        if (all.length >= maxItems) break;
      }
      return all;
    },
  };
}

// The service's own limits of these lists are not documented; these are the ones of the endpoint list.
const pageSizeMax = 100;
export const pageSize = s.integerBetween(1, pageSizeMax);
export const offsetInput = {
  offset: s.withDefault(s.integerBetween(0, Number.MAX_SAFE_INTEGER), 0),
  limit: s.withDefault(pageSize, 20),
};

/** The items of a page. Throws for one that is none, which the service never sends. */
export function itemsIn<Item extends { readonly id: string }>(page: readonly Item[]): readonly Item[] {
  if (page.every(({ id }) => typeof id === "string")) return page;
  throw new TypeError("expected items with an id");
}

type FetchItems<Item> = (
  offset: number,
  limit: number,
) => Promise<{ readonly data: readonly Item[]; readonly meta: CallMeta }>;

/**
 * An offset list in a fixed order. It ends with the first page shorter than `limit`.
 *
 * Pages overlap. A page with an item that was returned before has nothing missing in front of it. One without is dropped,
 * and requested again from further back, twice as far each time, at last from the beginning. So no item is missed that
 * the list contains throughout, unless the reading begins behind it.
 */
export function createOffsetList<Item extends { readonly id: string }>(
  method: string,
  open: (check: Check) => {
    readonly offset: number;
    readonly limit: number;
    readonly fetchItems: FetchItems<Item>;
  },
): PagedList<Item, number> {
  return createPagedList<Item, number>(method, (check) => {
    const { offset: start, limit, fetchItems } = open(check);
    const overlapMax = Math.max(1, Math.min(limit - 1, Math.floor(limit / 2) + 1));
    // One item shows that nothing has moved. Where something has, more will.
    let overlap = 1;
    return {
      start,
      async fetchPage(cursor, seen) {
        const from = cursor ?? start;
        for (let back = from === start ? 0 : overlap; ; back = Math.max(overlapMax, back * 2)) {
          const at = Math.max(start, from - back);
          const { data, meta } = await fetchItems(at, Math.min(limit + back, pageSizeMax));
          if (at === start || data.some(({ id }) => seen.has(id))) {
            overlap = Math.max(overlap, Math.min(back, overlapMax));
            // One item at least of a page that overlaps was returned before.
            const isLast = data.length < (back > 0 ? Math.max(limit, 2) : limit);
            return { items: data, next: isLast ? null : at + data.length, meta };
          }
        }
      },
    };
  });
}

function stalled(method: string): WorkspaceTasksError {
  const message = `${method}: the list returned ${pagesWithoutNewItemMax} pages in a row without a new item`;
  return new WorkspaceTasksError("PAGINATION_STALLED", message, { outcome: "rejected" });
}
