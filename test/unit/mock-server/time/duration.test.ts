import { expect, it } from "vitest";
import {
  checkDurationMs,
  durationMsMax,
  isoTime,
  isoTimeOrNull,
  parseDurationMs,
  timeMsMax,
  timeMsMin,
} from "../../../../mock-server/time/duration.ts";

it.each([
  [0, 0],
  [1500, 1500],
  ["250ms", 250],
  ["3m", 180_000],
  ["1h30m", 5_400_000],
  ["1.25s", 1_250],
  ["7d", 604_800_000],
])("parseDurationMs(%j) returns %d", (text, expected) => {
  expect(parseDurationMs(text)).toBe(expected);
});

it.each(["", "3", "m", "-3m", "3 m", "3x", "3m!", "ms3", ["3m"], -1, Number.NaN, Number.POSITIVE_INFINITY])(
  "parseDurationMs(%j) returns undefined",
  (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  },
);

it("what is no duration is an error that names the argument", () => {
  expect(checkDurationMs("clock.advance: by", "3m")).toBe(180_000);
  expect(() => checkDurationMs("clock.advance: by", "3x")).toThrow(
    'clock.advance: by: expected milliseconds or text such as "90s"',
  );
});

it("a stage takes at most 100 years", () => {
  expect(durationMsMax).toBe(parseDurationMs("36525d"));
});

const startMs = Date.UTC(2026, 0, 15, 12);

it("isoTime formats a time in UTC with milliseconds, also from its cache", () => {
  expect(isoTime(startMs + 7)).toBe("2026-01-15T12:00:00.007Z");
  expect(isoTime(startMs + 7)).toBe("2026-01-15T12:00:00.007Z");
});

it("isoTime shows a time that RFC 3339 cannot express as the nearest one that it can", () => {
  const last = "9999-12-31T23:59:59.999Z";
  const times = [timeMsMax, timeMsMax + 1, 8.64e15 + 1, 1e300, Number.POSITIVE_INFINITY];
  expect(times.map(isoTime)).toEqual(times.map(() => last));
  expect([timeMsMin, timeMsMin - 1, -1e300].map(isoTime)).toEqual(Array(3).fill("0001-01-01T00:00:00.000Z"));
});

it("isoTimeOrNull returns null for null", () => {
  expect(isoTimeOrNull(null)).toBeNull();
  expect(isoTimeOrNull(startMs)).toBe("2026-01-15T12:00:00.000Z");
});
