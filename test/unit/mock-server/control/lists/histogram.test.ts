import { describe, expect, it } from "vitest";
import { countByTime, createRangeFilter } from "../../../../../mock-server/control/lists/histogram.ts";

const startMs = Date.parse("2026-01-15T12:00:00.000Z");
const series = ["good", "bad"] as const;
const at = (offsetMs: number, name: (typeof series)[number] = "good") => ({
  atMs: startMs + offsetMs,
  series: name,
});

describe("a histogram", () => {
  it("counts each series per interval, and leaves out empty intervals", () => {
    expect(countByTime([at(0), at(400, "bad"), at(999), at(59_000)], series, {})).toEqual({
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
