import * as format from "@workspace-tasks/page-parts/text.ts";
import { describe, expect, it } from "vitest";

const noonMs = Date.UTC(2026, 0, 15, 12);
const noon = "2026-01-15T12:00:00Z";

describe("a time or a duration on the page", () => {
  it.each<[what: string, shown: () => string, expected: string]>([
    ["a time in UTC, whatever the zone", () => format.formatTime(noonMs + 7_999), "2026-01-15 12:00:07"],
    ["no exception for a text that is no time", () => format.formatTime("no time"), "unknown time"],
    ["no exception for no time", () => format.formatExact(undefined as never), "unknown time"],
    [
      "milliseconds of a time",
      () => format.formatExact("2026-01-15T12:00:00.007Z"),
      "2026-01-15 12:00:00.007 UTC",
    ],
    ["a range of one day", () => format.formatRange(noon, "2026-01-15T12:05:00Z"), "12:00:00 – 12:05:00"],
    [
      "a range with dates that differ",
      () => format.formatRange(noon, "2026-01-16T12:00:00Z"),
      "01-15 12:00:00 – 01-16 12:00:00",
    ],
    ["a range with an open end", () => format.formatRange(noon, undefined), "12:00:00 – …"],
    ["no exception for no time near another", () => format.formatTimeNear("no time", 0), "unknown time"],
    ["no date of the same day", () => format.formatTimeNear(noonMs - 60_000, noonMs), "11:59:00"],
    ["the date of another day", () => format.formatTimeNear(noonMs - 86_400_000, noonMs), "01-14 12:00:00"],
    ["milliseconds", () => format.formatDuration(12.4), "12 ms"],
    ["seconds with a tenth", () => format.formatDuration(1_440), "1.4 s"],
    ["whole minutes", () => format.formatDuration(60_000), "1 min"],
    ["minutes and seconds", () => format.formatDuration(295_000), "4 min 55 s"],
    ["days and hours", () => format.formatDuration(3 * 86_400_000 + 3_660_000), "3 d 1 h"],
    ["how long ago", () => format.formatRelative(1_000, 61_000), "1 min ago"],
    ["in how long", () => format.formatRelative(61_000, 1_000), "in 1 min"],
    ["that it is now", () => format.formatRelative(1_000, 1_300), "now"],
  ])("shows %s", (_, shown, expected) => {
    expect(shown()).toBe(expected);
  });
});

describe("formatHex", () => {
  it("dumps bytes, not characters", () => {
    expect(format.formatHex("aü\n")).toBe(`0000  61 c3 bc 0a ${" ".repeat(36)} a···`);
    expect(format.formatHex("x".repeat(5_000)).split("\n").at(-1)).toBe("… 904 bytes more");
  });
});

describe("shortId", () => {
  it("keeps the end of an id, where ids differ", () => {
    expect(format.shortId("019bc186-de00-7000-8001-0e0d7cdeef41")).toBe("…7cdeef41");
    expect(format.shortId("short")).toBe("short");
  });
});
