import { afterEach, describe, expect, it } from "vitest";
import { readTime } from "../../../receiver-kit/maintenance/row-filter.ts";

const nowMs = Date.parse("2026-03-01T09:30:00Z");
const zone = process.env["TZ"];

afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

describe("a time of a filter", () => {
  it.each([
    ["2h", "2026-03-01T07:30:00Z"],
    ["30m", "2026-03-01T09:00:00Z"],
    ["30 min", "2026-03-01T09:00:00Z"],
    ["90s", "2026-03-01T09:28:30Z"],
    ["1d", "2026-02-28T09:30:00Z"],
    ["02:00Z", "2026-03-01T02:00:00Z"],
    ["9:29Z", "2026-03-01T09:29:00Z"],
    // Not yet today.
    ["23:00Z", "2026-02-28T23:00:00Z"],
    ["02:00", "2026-03-01T01:00:00Z"],
    ["11:00", "2026-02-28T10:00:00Z"],
    ["02:00+02:00", "2026-03-01T00:00:00Z"],
    ["02:00-0500", "2026-03-01T07:00:00Z"],
    ["2026-02-28", "2026-02-27T23:00:00Z"],
    ["2026-02-28T02:00", "2026-02-28T01:00:00Z"],
    ["2026-02-28 02:00:30", "2026-02-28T01:00:30Z"],
    ["2026-02-28T02:00:30.250Z", "2026-02-28T02:00:30.250Z"],
    // Summer time.
    ["2025-07-01T02:00", "2025-07-01T00:00:00Z"],
  ])("%s is %s", (given, expected) => {
    process.env["TZ"] = "Europe/Zurich";
    expect(new Date(readTime(given, nowMs) ?? Number.NaN).toISOString()).toBe(
      new Date(expected).toISOString(),
    );
  });

  it.each([
    "",
    "Z",
    "yesterday",
    "2",
    "2w",
    "24:01",
    "25:00",
    "2:5",
    "2026-13-01",
    "2026-02-30",
    "2026-02-28T25:00",
    "-2h",
    "1e3h",
  ])("%j is none", (given) => expect(readTime(given, nowMs)).toBeUndefined());
});
