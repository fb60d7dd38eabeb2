import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { listPage } from "../../../../../mock-server/control/lists/list-page.ts";

const it = mockTest.extend({ mockOptions: { listen: false, clock: "virtual" } });

const lists = ["requests", "deliveries", "tasks"];
const invalid = { error: { code: "QUERY_INVALID", message: "iterator: Invalid iterator" } };

describe("a list of the control API", () => {
  it.for(["zzz", "NaN", "-1", "1.5", "1e3", "0", "constructor"])(
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
