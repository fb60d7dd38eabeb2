// A list is read page by page while the service changes it, so two things can go wrong unnoticed: a cursor that is
// returned unchanged requests the same page without end, and items that move from one page of an offset list to the next
// appear twice. Both are handled here.

import type { CallMeta } from "../engine/call.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { integerBetween, withDefault } from "../validation/schema.ts";

export interface Page<Item, Cursor> {
  readonly items: readonly Item[];
  /** Where the next page begins, usable as a checkpoint; `null` on the last page. */
  readonly next: Cursor | null;
  readonly meta: CallMeta;
}

/**
 * A list that is fetched while it is read. Each iteration starts again at the beginning. The call options of `list`
 * apply to the request of each page.
 */
export interface PagedList<Item, Cursor> extends AsyncIterable<Item> {
  /** The pages, for checkpoints: a later `list` continues from a page's `next`. */
  pages(): AsyncGenerator<Page<Item, Cursor>, void, undefined>;
  /** All items in an array, at most `maxItems` of them (default: no limit). Stops fetching once it has enough. */
  toArray(options?: { readonly maxItems?: number | undefined }): Promise<Item[]>;
}

/** Fetches the page at a cursor; `null` requests the first. */
export type FetchPage<Item, Cursor> = (cursor: Cursor | null) => Promise<Page<Item, Cursor>>;

/** A list whose pages are fetched by what `startReading` returns for each iteration. */
export function createPagedList<Item, Cursor>(
  startReading: () => FetchPage<Item, Cursor>,
  start: Cursor | null = null,
): PagedList<Item, Cursor> {
  async function* pages(): AsyncGenerator<Page<Item, Cursor>, void, undefined> {
    const fetchPage = startReading();
    const requested = new Set<Cursor | null>();
    let cursor = start;
    do {
      if (requested.has(cursor)) throw stalled(requested.size);
      requested.add(cursor);
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
    async toArray({ maxItems = Number.POSITIVE_INFINITY } = {}) {
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
export const pageSize = integerBetween(1, 100);
export const offsetInput = {
  offset: withDefault(integerBetween(0, Number.MAX_SAFE_INTEGER), 0),
  limit: withDefault(pageSize, 20),
};

/**
 * An offset list, newest first: it ends with the first page shorter than `limit`.
 *
 * Items added while the list is read move the others towards the end, so the start of a page can repeat the end of the
 * page before; such items are omitted from the later page.
 */
export function createOffsetList<Item extends { readonly id: string }>(
  fetchPage: (
    offset: number,
    limit: number,
  ) => Promise<{ readonly data: readonly Item[]; readonly meta: CallMeta }>,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): PagedList<Item, number> {
  function startReading(): FetchPage<Item, number> {
    let previousIds: ReadonlySet<string> = new Set();
    return async (cursor) => {
      const at = cursor ?? offset;
      const { data, meta } = await fetchPage(at, limit);
      const items = data.filter(({ id }) => !previousIds.has(id));
      previousIds = new Set(data.map(({ id }) => id));
      return { items, next: data.length < limit ? null : at + limit, meta };
    };
  }
  return createPagedList(startReading, offset);
}

function stalled(pagesRead: number): WorkspaceTasksError {
  const message = `the list returned the same cursor twice, after ${pagesRead} pages`;
  return new WorkspaceTasksError("PAGINATION_STALLED", message, { outcome: "rejected" });
}
