import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createOffsetList, createPagedList, type Page } from "../../../../sdk/operations/pagination.ts";
import { fakeMeta } from "../../../support/fake-engine.ts";

const meta = fakeMeta;
const pageOf = <Item>(items: readonly Item[], next: string | null): Page<Item, string> => ({
  items,
  next,
  meta,
});

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
      fc.asyncProperty(fc.array(fc.integer()), fc.integer({ min: 1, max: 7 }), async (all, size) => {
        const { fetchPage } = cursorList(all, size);
        expect(await createPagedList(() => fetchPage).toArray()).toEqual(all);
      }),
    );
  });

  it("a cursor list continues from the checkpoint of a page", async () => {
    const { fetchPage } = cursorList([1, 2, 3, 4, 5], 2);
    let checkpoint: string | null = null;
    for await (const page of createPagedList(() => fetchPage).pages()) {
      checkpoint = page.next;
      break;
    }
    expect(await createPagedList(() => fetchPage, checkpoint).toArray()).toEqual([3, 4, 5]);
  });

  it("a cursor list fetches only pages that are read", async () => {
    const { fetchPage, requested } = cursorList([1, 2, 3, 4, 5], 2);
    for await (const item of createPagedList(() => fetchPage)) if (item === 2) break;
    expect(requested).toEqual([null]);
  });

  it("a cursor list starts again with each loop", async () => {
    const { fetchPage } = cursorList([1, 2, 3], 2);
    const list = createPagedList(() => fetchPage);
    expect([await list.toArray(), await list.toArray()]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it("a cursor list continues after an empty page", async () => {
    const pages: Record<string, Page<number, string>> = {
      first: pageOf([1], "second"),
      second: pageOf([], "third"),
      third: pageOf([2], null),
    };
    const list = createPagedList<number, string>(() => async (cursor) => pages[cursor ?? "first"]!);
    expect(await list.toArray()).toEqual([1, 2]);
  });

  // start → a → b → a → b → …
  const circle: Record<string, string> = { start: "a", a: "b", b: "a" };
  const fetchCircle = async (cursor: string | null) =>
    pageOf([cursor ?? "start"], circle[cursor ?? "start"]!);

  it("a cursor list fails when a cursor is returned twice, also with others in between", async () => {
    const seen: string[] = [];
    const reading = (async () => {
      for await (const item of createPagedList(() => fetchCircle)) seen.push(item);
    })();
    await expect(reading).rejects.toMatchObject({ code: "PAGINATION_STALLED" });
    expect(seen).toEqual(["start", "a", "b"]);
  });

  it("control: following that cursor never ends", async () => {
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
    const iterator = createPagedList(() => fetchPage)[Symbol.asyncIterator]();
    const steps = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    expect(steps.map((step) => step.value)).toEqual([1, 2, 3]);
  });

  it("a cursor list fetches a failed page again in a new loop", async () => {
    let failing = true;
    const list = createPagedList<number, string>(() => async () => {
      if (failing) throw new Error("cut");
      return pageOf([1], null);
    });
    await expect(list.toArray()).rejects.toThrow("cut");
    failing = false;
    expect(await list.toArray()).toEqual([1]);
  });

  it("a cursor list stops fetching once it has maxItems items", async () => {
    const { fetchPage, requested } = cursorList([1, 2, 3, 4, 5], 2);
    expect(await createPagedList(() => fetchPage).toArray({ maxItems: 2 })).toEqual([1, 2]);
    expect(await createPagedList(() => fetchPage).toArray({ maxItems: 0 })).toEqual([]);
    expect(requested).toEqual([null]);
  });
});

describe("a list read by offset", () => {
  const itemsFrom = (first: number, last: number) =>
    Array.from({ length: first - last + 1 }, (_, index) => ({ id: `${first - index}` }));

  it("an offset list ends with the first page that is not full", async () => {
    const all = itemsFrom(5, 1);
    const offsets: number[] = [];
    const list = createOffsetList(
      async (offset, limit) => {
        offsets.push(offset);
        return { data: all.slice(offset, offset + limit), meta };
      },
      { offset: 0, limit: 2 },
    );
    expect(await list.toArray()).toEqual(all);
    expect(offsets).toEqual([0, 2, 4]);
  });

  it("an offset list fetches one more page when the last one is full", async () => {
    const all = itemsFrom(4, 1);
    const fetched: number[] = [];
    const list = createOffsetList(
      async (offset, limit) => {
        fetched.push(offset);
        return { data: all.slice(offset, offset + limit), meta };
      },
      { offset: 0, limit: 2 },
    );
    expect(await list.toArray()).toEqual(all);
    expect(fetched).toEqual([0, 2, 4]);
  });

  const growing = () => {
    let newest = 6;
    const fetched: string[] = [];
    const fetchPage = async (offset: number, limit: number) => {
      const items = itemsFrom(newest, 1).slice(offset, offset + limit);
      fetched.push(...items.map((item) => item.id));
      newest += 1;
      return { data: items, meta };
    };
    return { fetchPage, fetched };
  };

  it("an offset list yields no item twice when others are added while it is read", async () => {
    const { fetchPage } = growing();
    const ids = (await createOffsetList(fetchPage, { offset: 0, limit: 3 }).toArray()).map(({ id }) => id);
    expect(ids).toEqual(["6", "5", "4", "3", "2", "1"]);
  });

  it("control: the pages of such a list repeat some items", async () => {
    const { fetchPage, fetched } = growing();
    await createOffsetList(fetchPage, { offset: 0, limit: 3 }).toArray();
    expect(fetched.length).toBeGreaterThan(new Set(fetched).size);
  });
});
