import { describe, expect, it } from "vitest";
import { retryDelayMs } from "../../../../receiver-kit/attempt/retry-policy.ts";

const policy = { firstDelayMs: 1_000, delayMsMax: 6_000, attemptsMax: 8 };
const delays = (random: number) =>
  [1, 2, 3, 4, 5].map((attempt) => retryDelayMs(policy, attempt, () => random));

describe("the delay after a failed attempt", () => {
  it("the delay doubles with each attempt, up to the longest one", () => {
    expect(delays(0.5)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  it("the jitter shortens or lengthens a delay by at most a fifth, and none is longer than delayMsMax", () => {
    expect(delays(0)).toEqual([800, 1_600, 3_200, 4_000, 4_000]);
    expect(delays(1)).toEqual([1_200, 2_400, 4_800, 6_000, 6_000]);
  });

  it.each([1, 2, 3, 7, 1_001, 3_600_000, 2 ** 31 - 1])(
    "no delay is longer than a delayMsMax of %d",
    (delayMsMax) => {
      const longest = [1, 2, 15, 40].map((attempt) =>
        retryDelayMs({ firstDelayMs: delayMsMax, delayMsMax, attemptsMax: 50 }, attempt, () => 1 - 2 ** -53),
      );
      expect(longest).toEqual(longest.map(() => delayMsMax));
    },
  );

  it("the delay is in whole milliseconds", () => {
    expect(retryDelayMs({ ...policy, firstDelayMs: 7 }, 1, () => 0.3)).toBe(6);
  });
});
