import type { CallMeta } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { integer, withDefault } from "../validation/schema.ts";

// A list is read page by page while the service goes on changing it, so two things can go wrong that
// a caller never sees: a cursor that comes back unchanged asks for the same page for ever, and items
// that move between two pages of an offset list appear twice. Both are caught here.

export interface Page<Item, Cursor> {
  readonly items: readonly Item[];
  /** Where the next page begins, to be kept as a checkpoint; `null` on the last page. */
  readonly next: Cursor | null;
  readonly meta: CallMeta;
}

/**
 * A list that is fetched while it is read. Each loop over it starts again at its beginning. The call options that
 * `list` was given apply to the request of each page.
 */
export interface PagedList<Item, Cursor> extends AsyncIterable<Item> {
  /** The pages, for checkpoints: a later `list` continues from a page's `next`. */
  pages(): AsyncGenerator<Page<Item, Cursor>, void, undefined>;
  /** All items in an array, at most `itemsMax` of them (default: no limit). Stops fetching once it has enough. */
  toArray(options?: { readonly itemsMax?: number }): Promise<Item[]>;
}

/** Fetches the page at a cursor; `null` asks for the first. */
export type FetchPage<Item, Cursor> = (cursor: Cursor | null) => Promise<Page<Item, Cursor>>;

export function createPagedList<Item, Cursor>(
  fetchPage: FetchPage<Item, Cursor>,
  start: Cursor | null = null,
): PagedList<Item, Cursor> {
  async function* pages(): AsyncGenerator<Page<Item, Cursor>, void, undefined> {
    const asked = new Set<Cursor | null>();
    let cursor = start;
    do {
      if (asked.has(cursor)) throw stalled(asked.size);
      asked.add(cursor);
      const page = await fetchPage(cursor);
      yield page;
      cursor = page.next;
    } while (cursor !== null);
  }

  async function* items(): AsyncGenerator<Item, void, undefined> {
    for await (const page of pages()) yield* page.items;
  }

  return {
    pages,
    [Symbol.asyncIterator]: items,
    async toArray({ itemsMax = Number.POSITIVE_INFINITY } = {}) {
      const all: Item[] = [];
      if (itemsMax < 1) return all;
      for await (const item of items()) {
        all.push(item);
        if (all.length >= itemsMax) break;
      }
      return all;
    },
  };
}

// The service's own limits for these lists are not shown; these are the ones of the endpoint list.
export const pageSize = integer(1, 100);
export const offsetWindow = {
  offset: withDefault(integer(0, Number.MAX_SAFE_INTEGER), 0),
  limit: withDefault(pageSize, 20),
};

export interface OffsetPage<Item> {
  readonly items: readonly Item[];
  readonly meta: CallMeta;
}

/**
 * An offset list, newest first: it ends with the first page shorter than `limit`.
 *
 * What is added while the list is read moves the rest towards the end, so the head of a page can repeat
 * the tail of the one before; such items are left out of the later page.
 */
export function createOffsetList<Item extends { readonly id: string }>(
  fetchPage: (offset: number, limit: number) => Promise<OffsetPage<Item>>,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): PagedList<Item, number> {
  function create(): FetchPage<Item, number> {
    let previous: ReadonlySet<string> = new Set();
    return async (cursor) => {
      const at = cursor ?? offset;
      const { items, meta } = await fetchPage(at, limit);
      const fresh = items.filter((item) => !previous.has(item.id));
      previous = new Set(items.map((item) => item.id));
      return { items: fresh, next: items.length < limit ? null : at + limit, meta };
    };
  }
  return {
    pages: () => createPagedList(create(), offset).pages(),
    [Symbol.asyncIterator]: () => createPagedList(create(), offset)[Symbol.asyncIterator](),
    toArray: (options) => createPagedList(create(), offset).toArray(options),
  };
}

function stalled(pagesRead: number): WorkspaceTasksError {
  return new WorkspaceTasksError(
    "PAGINATION_STALLED",
    `the list handed out the same cursor twice, after ${pagesRead} pages`,
    { outcome: "rejected" },
  );
}
