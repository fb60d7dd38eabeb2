import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRetryAfterMs } from "../../../../sdk/request/classify-response.ts";

const nowMs = Date.UTC(2026, 0, 15, 12);

function parse(value: string, date?: string): number | undefined {
  return parseRetryAfterMs(new Headers({ "retry-after": value, ...(date ? { date } : {}) }), nowMs);
}

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["7", 7_000],
    [" 60 ", 60_000],
    ["Thu, 15 Jan 2026 12:00:30 GMT", 30_000],
    ["Thu, 15 Jan 2026 11:59:00 GMT", 0],
    ["1000000000", 1_000_000_000_000],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
    ["Thu, 01 Jan 2099 00:00:00 GMT", 2_302_430_400_000],
  ])("Retry-After: %s is %i ms", (value, expected) => {
    expect(parse(value)).toBe(expected);
  });

  it.each([
    [""],
    ["-5"],
    ["1.5"],
    ["1e3"],
    ["0x10"],
    ["NaN"],
    ["60s"],
    ["1 Jan"],
    ["2026-01-15T12:00:30Z"],
    ["Thu, 99 Jan 2026 12:00:30 GMT"],
    ["60, 60"],
  ])("Retry-After: %j is ignored", (value) => {
    expect(parse(value)).toBeUndefined();
  });

  it("a Retry-After date is compared with the Date header", () => {
    const wayOff = "Thu, 15 Jan 2026 18:00:00 GMT";
    expect(parse("Thu, 15 Jan 2026 18:00:20 GMT", wayOff)).toBe(20_000);
  });

  it("an absent Retry-After is undefined", () => {
    expect(parseRetryAfterMs(new Headers(), nowMs)).toBeUndefined();
  });

  it("any Retry-After text is a whole wait or undefined", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), (value) => {
        const waitMs = parse(value);
        expect(waitMs === undefined || (Number.isFinite(waitMs) && waitMs >= 0)).toBe(true);
      }),
    );
  });
});
