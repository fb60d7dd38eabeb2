import { expect, it } from "vitest";
import { isoTime, isoTimeOrNull } from "../../../../mock-server/time/iso-time.ts";

const startMs = Date.UTC(2026, 0, 15, 12);

it("isoTime formats a time in UTC with milliseconds, also from its cache", () => {
  expect(isoTime(startMs + 7)).toBe("2026-01-15T12:00:00.007Z");
  expect(isoTime(startMs + 7)).toBe("2026-01-15T12:00:00.007Z");
});

it("isoTime formats more times than its cache holds", () => {
  const times = Array.from({ length: 25_000 }, (_, index) => startMs + index * 37);
  const wrong = [...times, ...times].filter((timeMs) => Date.parse(isoTime(timeMs)) !== timeMs);
  expect(wrong).toEqual([]);
});

it("isoTimeOrNull returns null for null", () => {
  expect(isoTimeOrNull(null)).toBeNull();
  expect(isoTimeOrNull(startMs)).toBe("2026-01-15T12:00:00.000Z");
});
