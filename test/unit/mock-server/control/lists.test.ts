import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect, it } from "vitest";
import {
  countByTime,
  createRangeFilter,
  createTextMatch,
  listPage,
} from "../../../../mock-server/control/lists.ts";

const listIt = mockTest.extend({ mockOptions: { listen: false, clock: "virtual" } });

const lists = ["requests", "deliveries", "tasks"];
const invalid = { error: { code: "QUERY_INVALID", message: "iterator: Invalid iterator" } };

describe("a list of the control API", () => {
  listIt.for(["zzz", "NaN", "-1", "1.5", "1e3", "0", "constructor"])(
    "responds with 400 to the cursor %s, which is none",
    async (iterator, { mock }) => {
      for (const list of lists) {
        const response = await mock.fetch(`/_mock/v1/${list}?iterator=${iterator}`);
        expect([list, response.status]).toEqual([list, 400]);
        expect(await response.json()).toMatchObject(invalid);
      }
    },
  );
});

describe("listPage", () => {
  const pageOf = (
    items: readonly (number | string)[],
    query: Parameters<typeof listPage>[1],
    only?: number,
  ) =>
    listPage(items, query, {
      positionOf: (item) => item,
      ...(only !== undefined && { matches: (item) => item === only }),
      view: (item) => `#${item}`,
    });
  const ids = ["019bc186-de00-7000-8000-2063607191f4", "019bc186-de00-7000-8000-479e3dd791a5"];
  const numbers = Array.from({ length: 101 }, (_, index) => index + 1);

  it("returns 100 records, oldest first, unless the query says otherwise", () => {
    const page = pageOf(numbers, {});
    expect([page.data.length, page.data[0], page.done, page.iterator]).toEqual([100, "#1", false, "100"]);
    expect(pageOf(numbers, { iterator: "100" })).toEqual({ data: ["#101"], done: true, iterator: null });
    expect(pageOf(numbers, { iterator: "101" })).toEqual({ data: [], done: true, iterator: null });
  });

  it("is done when no further record matches", () => {
    expect(pageOf([1, 2, 3], { limit: 3 })).toEqual({ data: ["#1", "#2", "#3"], done: true, iterator: null });
    expect(pageOf([1, 2, 3], { limit: 2 })).toMatchObject({ done: false, iterator: "2" });
    expect(pageOf([1, 2, 3], { limit: 1 }, 2)).toEqual({ data: ["#2"], done: true, iterator: null });
    expect(pageOf([1, 2, 3], { limit: 0 })).toEqual({ data: [], done: true, iterator: null });
  });

  it("returns the newest first on demand, each page with what is older than the last record of the page before", () => {
    const newestFirst = { order: "desc", limit: 2 } as const;
    expect(pageOf([1, 2, 3], newestFirst)).toEqual({ data: ["#3", "#2"], done: false, iterator: "2" });
    expect(pageOf([1, 2, 3], { ...newestFirst, iterator: "2" }).data).toEqual(["#1"]);
    expect(pageOf(ids, { iterator: ids[0] }).data).toEqual([`#${ids[1]}`]);
  });

  it("rejects a cursor behind the newest record, and any cursor of an empty list", () => {
    const wrong: readonly (readonly [readonly (number | string)[], string])[] = [
      ...([
        [[1, 2], "3"],
        [[1, 2], "02"],
        [[1, 2], "1.5"],
        [[1, 2], "1".repeat(16)],
        [[], "1"],
      ] as const),
      [[], ids[0] ?? ""],
      [ids, `0${ids[0]}`],
      [ids, `${ids[0]}0`],
    ];
    for (const [items, iterator] of wrong) {
      expect(() => pageOf(items, { iterator })).toThrow(
        expect.objectContaining({
          code: "QUERY_INVALID",
          issues: [{ path: "iterator", message: "Invalid iterator" }],
        }),
      );
    }
  });
});

const startMs = Date.parse("2026-01-15T12:00:00.000Z");
const series = ["good", "bad"] as const;
const at = (offsetMs: number, name: (typeof series)[number] = "good") => ({
  atMs: startMs + offsetMs,
  series: name,
});

describe("a histogram", () => {
  it("counts each series per interval, and leaves out empty intervals", () => {
    expect(countByTime([at(59_000), at(0), at(400, "bad"), at(999)], series, {})).toEqual({
      from: "2026-01-15T12:00:00.000Z",
      barMs: 1_000,
      bars: [
        { index: 0, counts: { good: 2, bad: 1 } },
        { index: 59, counts: { good: 1, bad: 0 } },
      ],
    });
  });

  it.each([
    [0, 100],
    [5_900, 100],
    [6_000, 200],
    [60_000, 2_000],
    [3_600_000, 120_000],
    [7 * 86_400_000, 21_600_000],
    [60 * 86_400_000, 2 * 86_400_000],
    [8_000 * 365 * 86_400_000, 65_536 * 86_400_000],
  ])("of %i ms has bars of %i ms: at most 60 of the shortest usual length", (spanMs, barMs) => {
    const counted = countByTime([at(0), at(spanMs)], series, {});
    expect(counted.barMs).toBe(barMs);
    expect(counted.bars.at(-1)?.index ?? 0).toBeLessThan(60);
  });

  it("covers the range that was asked for, and begins at a multiple of its bars", () => {
    const range = { from: "2026-01-15T12:00:07.300Z", to: "2026-01-15T12:05:00.000Z", bars: 10 };
    const counted = countByTime([at(60_000)], series, range);
    expect(counted).toMatchObject({ from: "2026-01-15T12:00:00.000Z", barMs: 30_000, bars: [{ index: 2 }] });
  });

  it("of nothing has no bar", () => {
    expect(countByTime([], series, {}).bars).toEqual([]);
  });
});

it("a text is found in others as it is written, and not in the absence of one", () => {
  const contains = createTextMatch("null.");
  expect([contains(null, "A NULL."), contains(null, undefined, "nulls")]).toEqual([true, false]);
  expect(createTextMatch("null")(null)).toBe(false);
});

it("a range has its start, and not its end", () => {
  const isInRange = createRangeFilter({ from: "2026-01-15T12:00:00.000Z", to: "2026-01-15T12:00:01.000Z" });
  expect([-1, 0, 999, 1_000].map((offsetMs) => isInRange(startMs + offsetMs))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(createRangeFilter({})(startMs)).toBe(true);
});
