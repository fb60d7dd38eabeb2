import { expect, it } from "vitest";
import { parseDurationMs } from "../../../../mock-server/time/duration.ts";

it.each([
  [0, 0],
  [1500, 1500],
  ["250ms", 250],
  ["3m", 180_000],
  ["1h30m", 5_400_000],
  ["1.5s", 1_500],
  ["7d", 604_800_000],
])("parseDurationMs(%j) returns %d", (text, expected) => {
  expect(parseDurationMs(text)).toBe(expected);
});

it.each(["", "3", "m", "-3m", "3 m", "3x", "3m!", "ms3", -1, Number.NaN, Number.POSITIVE_INFINITY])(
  "parseDurationMs(%j) returns undefined",
  (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  },
);
