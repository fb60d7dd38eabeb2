import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createOffsetList,
  createPagedList,
  type Page,
  type PageReader,
} from "../../../../sdk/operations/pagination.ts";
import { fakeMeta } from "../../../support/engine-fixture.ts";
import { outcomeOf } from "../../../support/outcome-of.ts";

const meta = fakeMeta;
interface Item {
  readonly id: string;
}
const itemsOf = (ids: readonly (string | number)[]): readonly Item[] => ids.map((id) => ({ id: `${id}` }));
const idsOf = (items: readonly Item[]) => items.map(({ id }) => id);
const pageOf = (ids: readonly (string | number)[], next: string | null): Page<Item, string> => ({
  items: itemsOf(ids),
  next,
  meta,
});
const listOf = (
  fetchPage: (cursor: string | null) => Promise<Page<Item, string>>,
  start: string | null = null,
) => createPagedList<Item, string>("items.list", (): PageReader<Item, string> => ({ start, fetchPage }));

function cursorList(all: readonly number[], size: number) {
  const requested: (string | null)[] = [];
  const fetchPage = async (cursor: string | null) => {
    requested.push(cursor);
    const start = cursor === null ? 0 : Number(cursor);
    const end = start + size;
    return pageOf(all.slice(start, end), end < all.length ? `${end}` : null);
  };
  return { fetchPage, requested };
}

describe("a list read by cursor", () => {
  it("a cursor list yields every item once, for every page size", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.integer()), fc.integer({ min: 1, max: 7 }), async (all, size) => {
        const { fetchPage } = cursorList(all, size);
        expect(await listOf(fetchPage).toArray()).toEqual(itemsOf(all));
      }),
    );
  });

  it("a cursor list continues from the checkpoint of a page", async () => {
    const { fetchPage } = cursorList([1, 2, 3, 4, 5], 2);
    let checkpoint: string | null = null;
    for await (const page of listOf(fetchPage).pages()) {
      checkpoint = page.next;
      break;
    }
    expect(await listOf(fetchPage, checkpoint).toArray()).toEqual(itemsOf([3, 4, 5]));
  });

  it("a cursor list fetches only pages that are read", async () => {
    const { fetchPage, requested } = cursorList([1, 2, 3, 4, 5], 2);
    for await (const { id } of listOf(fetchPage)) if (id === "2") break;
    expect(requested).toEqual([null]);
  });

  it("a cursor list continues after an empty page", async () => {
    const pages: Record<string, Page<Item, string>> = {
      first: pageOf([1], "second"),
      second: pageOf([], "third"),
      third: pageOf([2], null),
    };
    const list = listOf(async (cursor) => pages[cursor ?? "first"]!);
    expect(await list.toArray()).toEqual(itemsOf([1, 2]));
  });

  // start → a → b → a → b → …
  const circle: Record<string, string> = { start: "a", a: "b", b: "a" };
  const fetchCircle = async (cursor: string | null) =>
    pageOf([cursor ?? "start"], circle[cursor ?? "start"]!);
  const withoutEnd: Record<string, (cursor: string | null) => Promise<Page<Item, string>>> = {
    "the same cursor again": async () => pageOf([1], "again"),
    "two cursors in turn": fetchCircle,
    "empty pages with new cursors": async (cursor) => pageOf([], `${Number(cursor ?? 0) + 1}`),
    "the same page with new cursors": async (cursor) => pageOf([1, 2], `${Number(cursor ?? 0) + 1}`),
  };

  it.each(Object.entries(withoutEnd))(
    "a cursor list fails after ten pages without a new item when the service returns %s",
    async (_, fetchPage) => {
      let requests = 0;
      const list = listOf((cursor) => {
        requests += 1;
        return fetchPage(cursor);
      });
      await expect(list.toArray()).rejects.toMatchObject({ code: "PAGINATION_STALLED" });
      expect(requests).toBeLessThanOrEqual(13);
    },
  );

  it("control: following those cursors never ends", async () => {
    let requests = 0;
    let cursor: string | null = null;
    do {
      cursor = (await fetchCircle(cursor)).next;
      requests += 1;
    } while (cursor !== null && requests < 1_000);
    expect(requests).toBe(1_000);
  });

  it("a cursor list gives parallel readers different items", async () => {
    const { fetchPage } = cursorList([1, 2, 3, 4], 2);
    const iterator = listOf(fetchPage)[Symbol.asyncIterator]();
    const steps = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    expect(steps.map((step) => step.value)).toEqual(itemsOf([1, 2, 3]));
  });

  it("a cursor list fetches a failed page again in a new loop", async () => {
    let failing = true;
    const list = listOf(async () => {
      if (failing) throw new Error("cut");
      return pageOf([1], null);
    });
    await expect(list.toArray()).rejects.toThrow("cut");
    failing = false;
    expect(await list.toArray()).toEqual(itemsOf([1]));
  });

  it("a cursor list stops fetching once it has maxItems items", async () => {
    const { fetchPage, requested } = cursorList([1, 2, 3, 4, 5], 2);
    expect(await listOf(fetchPage).toArray({ maxItems: 2 })).toEqual(itemsOf([1, 2]));
    expect(await listOf(fetchPage).toArray({ maxItems: 0 })).toEqual([]);
    expect(requested).toEqual([null]);
  });
});

describe("what a list is asked for", () => {
  it("an awaited list is its first page", async () => {
    const { fetchPage, requested } = cursorList([1, 2, 3], 2);
    expect(await listOf(fetchPage)).toEqual({ items: itemsOf([1, 2]), next: "2", meta });
    expect(requested).toEqual([null]);
  });

  it("an awaited list rejects with the error of its first page", async () => {
    const list = createPagedList<Item, string>("items.list", () => {
      throw new Error("the input is wrong");
    });
    await expect(list).rejects.toThrow("the input is wrong");
  });

  it.each([
    [10, "got a number"],
    [null, "got null"],
    [{ limit: 10 }, "did you mean maxItems"],
    [{ maxItems: "10" }, "maxItems"],
    [{ maxItems: Number.NaN }, "maxItems"],
    [{ maxItems: 2.5 }, "maxItems"],
  ])("toArray(%j) is rejected without a request", async (options, message) => {
    const { fetchPage, requested } = cursorList([1, 2, 3], 2);
    expect(await outcomeOf(listOf(fetchPage).toArray(options as never))).toMatchObject({
      code: "ARGUMENT_INVALID",
      message: expect.stringMatching(`^items.list: toArray: .*${message}`),
    });
    expect(requested).toEqual([]);
  });
});

/** A service that lists what `itemsAt` returns for the number of the request, counted from 0. */
function offsetService(
  itemsAt: (request: number) => readonly Item[],
  { limitMax = 1_000, ignoresOffset = false } = {},
) {
  const requests: { readonly offset: number; readonly limit: number }[] = [];
  const list = (limit: number, offset = 0) =>
    createOffsetList<Item>("items.list", () => ({
      offset,
      limit,
      async fetchItems(at, size) {
        const items = itemsAt(requests.length);
        requests.push({ offset: at, limit: size });
        const from = ignoresOffset ? 0 : at;
        return { data: items.slice(from, from + Math.min(size, limitMax)), meta };
      },
    }));
  return { list, requests };
}

const range = (first: number, last: number) =>
  itemsOf(Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index));

describe("a list read by offset", () => {
  it("an offset list yields an item once that a page has twice", async () => {
    const { list } = offsetService(() => itemsOf([1, 1, 2]));
    expect(await list(20).toArray()).toEqual(itemsOf([1, 2]));
  });

  it.each([0, 1, 4, 5, 6, 19, 20, 21, 60])("an offset list of %i items yields each once", async (count) => {
    for (const limit of [1, 2, 5, 20, 100]) {
      const { list, requests } = offsetService(() => range(1, count));
      expect(await list(limit).toArray()).toEqual(range(1, count));
      expect(requests.length).toBeLessThanOrEqual(Math.floor(count / limit) + 2);
    }
  });

  it("an offset list of 1,000 items costs one request more than pages that do not overlap", async () => {
    const { list, requests } = offsetService(() => range(1, 1_000));
    expect(await list(100).toArray()).toHaveLength(1_000);
    expect(requests).toHaveLength(11);
    expect(Math.max(...requests.map(({ limit }) => limit))).toBe(100);
  });

  it("an offset list continues from the checkpoint of a page", async () => {
    const { list } = offsetService(() => range(1, 50));
    const { next } = await list(20);
    expect(next).toBe(20);
    expect(await list(20, next ?? 0).toArray()).toEqual(range(21, 50));
  });

  it("an offset list of a service that limits its pages to the default is complete", async () => {
    const { list } = offsetService(() => range(1, 50), { limitMax: 20 });
    expect(await list(20).toArray()).toEqual(range(1, 50));
  });

  it("an offset list fails when the service ignores the offset", async () => {
    const { list, requests } = offsetService(() => range(1, 1_000), { ignoresOffset: true });
    await expect(list(20).toArray()).rejects.toMatchObject({ code: "PAGINATION_STALLED" });
    expect(requests.length).toBeLessThanOrEqual(13);
  });
});

describe("an offset list that changes while it is read", () => {
  const removedFrom = (removed: readonly number[], items = range(1, 60)) =>
    items.filter(({ id }) => !removed.includes(Number(id)));
  const first = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it("no item is missed when ten of the first page leave the list before the second", async () => {
    const { list, requests } = offsetService((request) => removedFrom(request === 0 ? [] : first(10)));
    expect(await list(20).toArray()).toEqual(range(1, 60));
    expect(requests.length).toBeLessThanOrEqual(5);
  });

  it("control: pages that do not overlap miss ten items that were in the list throughout", async () => {
    const pages = [range(1, 60).slice(0, 20), removedFrom(first(10)).slice(20, 40)];
    expect(idsOf(pages.flat())).not.toContain("25");
  });

  it("every item that stays is listed once, whatever leaves and comes between two requests", async () => {
    const change = fc.record({
      leaving: fc.array(fc.nat(80), { maxLength: 40 }),
      coming: fc.integer({ min: 0, max: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 80 }),
        fc.integer({ min: 1, max: 25 }),
        fc.array(change, { maxLength: 12 }),
        async (count, limit, changes) => {
          let items = range(1_000, 999 + count);
          let newest = 1_000;
          const { list, requests } = offsetService((request) => {
            const { leaving = [], coming = 0 } = changes[request - 1] ?? {};
            items = items.filter((_, index) => !leaving.includes(index));
            items = [...range(newest - coming, newest - 1), ...items];
            newest -= coming;
            return items;
          });
          const listed = idsOf(await list(limit).toArray());
          const stayed = idsOf(items).filter((id) => Number(id) >= 1_000);
          expect(listed).toEqual(expect.arrayContaining(stayed));
          expect(new Set(listed).size).toBe(listed.length);
          expect(requests.length).toBeLessThanOrEqual(Math.ceil(440 / limit) + 8 * 12);
        },
      ),
      { numRuns: 500 },
    );
  });
});
