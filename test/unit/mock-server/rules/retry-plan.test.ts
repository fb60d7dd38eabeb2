import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextAttemptDelayMs, rejectionOf } from "../../../../mock-server/rules/retry-plan.ts";

const scheduleMs = [0, 5_000, 300_000];
const nowMs = Date.UTC(2026, 0, 15, 12);
const failed = { scheduleMs, attempts: 1, status: 500, retryAfter: undefined, nowMs };

describe("nextAttemptDelayMs", () => {
  it("follows the schedule and returns null at its end", () => {
    const delays = [1, 2, 3].map((attempts) => nextAttemptDelayMs({ ...failed, attempts }));
    expect(delays).toEqual([5_000, 300_000, null]);
  });

  it("limits Retry-After of 429 and 503 to between one and two scheduled waits", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(429, 503),
        fc.oneof(fc.string(), fc.nat().map(String)),
        (status, retryAfter) => {
          const delayMs = nextAttemptDelayMs({ ...failed, status, retryAfter }) ?? Number.NaN;
          expect(delayMs).toBeGreaterThanOrEqual(5_000);
          expect(delayMs).toBeLessThanOrEqual(10_000);
        },
      ),
    );
    expect(nextAttemptDelayMs({ ...failed, status: 503, retryAfter: "7" })).toBe(7_000);
    for (const seconds of ["3600", "999999999", "9999999999", "9".repeat(400)])
      expect(nextAttemptDelayMs({ ...failed, status: 503, retryAfter: seconds })).toBe(10_000);
    const longer = { ...failed, attempts: 2, status: 503 };
    expect(nextAttemptDelayMs({ ...longer, retryAfter: "400" })).toBe(400_000);
    expect(nextAttemptDelayMs({ ...longer, retryAfter: " 400 " })).toBe(400_000);
    expect(nextAttemptDelayMs({ ...longer, retryAfter: undefined })).toBe(300_000);
    const date = new Date(nowMs + 8_000).toUTCString();
    expect(nextAttemptDelayMs({ ...failed, status: 429, retryAfter: date })).toBe(8_000);
  });

  it("ignores Retry-After with any other status, and without a response", () => {
    for (const status of [400, 500, 502, 200, null]) {
      expect(nextAttemptDelayMs({ ...failed, status, retryAfter: "7" })).toBe(5_000);
    }
  });

  it("rejectionOf returns null for 2xx only", () => {
    for (let status = 100; status < 600; status++) {
      expect(rejectionOf(status) === null).toBe(status >= 200 && status < 300);
    }
    const redirects = [300, 307, 399].map(rejectionOf);
    expect(redirects).toEqual(
      [300, 307, 399].map((status) => `status ${status}; redirects are not followed`),
    );
    // A 304 leads nowhere.
    expect([199, 304, 400].map(rejectionOf)).toEqual(["status 199", "status 304", "status 400"]);
  });
});
