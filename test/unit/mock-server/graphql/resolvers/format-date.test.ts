import { expect, test } from "vitest";
import { formatDate, formatOptionalDate } from "../../../../../mock-server/graphql/resolvers/format-date.ts";

const startMs = Date.UTC(2026, 0, 15, 12);

test("a time is written in UTC with milliseconds, the same each time it is asked for", () => {
  expect(formatDate(startMs + 7)).toBe("2026-01-15T12:00:00.007Z");
  expect(formatDate(startMs + 7)).toBe("2026-01-15T12:00:00.007Z");
});

test("more times than are kept are each written right, also those that were dropped", () => {
  const times = Array.from({ length: 25_000 }, (_, index) => startMs + index * 37);
  const wrong = [...times, ...times].filter((timeMs) => Date.parse(formatDate(timeMs)) !== timeMs);
  expect(wrong).toEqual([]);
});

test("no time is written as null", () => {
  expect(formatOptionalDate(null)).toBeNull();
  expect(formatOptionalDate(startMs)).toBe("2026-01-15T12:00:00.000Z");
});
