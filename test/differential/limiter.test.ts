import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { RateLimiter } from "../../sdk/rate-limit/rate-limiter.ts";
import { isFullDepth } from "../support/depth.ts";
import { type CreateLimiter, createLimiterPart } from "./compare-limiter.ts";
import { createPartResult, runPart } from "./differential-part.ts";
import { busiest, earliestArrivals, LimitedService, mostBeside } from "./limited-service.ts";

const cases = async (count: number, from: number, create?: CreateLimiter) => {
  const result = createPartResult(from);
  await runPart(createLimiterPart(create), result, (so) => so.count >= count);
  return result;
};

const sliding = { limit: 2, windowMs: 1_000, window: "sliding", windowOffsetMs: 0 } as const;
const fixed = { ...sliding, window: "fixed" } as const;

describe("the exact service and its best client", () => {
  it("a sliding window counts a request for exactly one window, a fixed one until its end", () => {
    const received = (limit: typeof sliding | typeof fixed) => {
      const service = new LimitedService(limit);
      return [0, 900, 950, 1_000, 1_001].map((atMs) => service.receive(atMs));
    };
    expect(received(sliding)).toEqual([undefined, undefined, 50, undefined, 899]);
    expect(received(fixed)).toEqual([undefined, undefined, 50, undefined, undefined]);
  });

  it("the earliest arrivals use every slot at once", () => {
    expect(earliestArrivals([0, 0, 0, 0, 0, 2_500], sliding)).toEqual([0, 0, 1_000, 1_000, 2_000, 2_500]);
  });

  it("the most requests beside another client leave it what it was given", () => {
    expect(mostBeside([500], 2_000, sliding)).toBe(3);
    expect(mostBeside([500, 1_200], 2_000, sliding)).toBe(2);
    expect(mostBeside([500], 2_000, fixed)).toBe(3);
    expect(busiest([0, 999, 1_000, 1_998], sliding)).toBe(3);
  });
});

describe("the rate limiter beside an exact simulation of the service", () => {
  it("150 scenarios never exceed the limit and reach the bounds", async () => {
    expect((await cases(150, 1)).failure).toBeUndefined();
  });

  if (isFullDepth) {
    it("30 scenarios of new seeds never exceed the limit and reach the bounds", async () => {
      expect((await cases(30, randomInt(2 ** 31))).failure).toBeUndefined();
    });
  }

  it("a limiter that permits one request more is found, and its scenario reduced to a few calls", async () => {
    const create: CreateLimiter = (settings, ...others) =>
      new RateLimiter({ ...settings, limit: settings.limit + 1 }, ...others);
    const { failure } = await cases(50, 1, create);
    expect(failure).toMatch(/rejected with 429|more requests than the limit/);
  });

  it("a limiter that leaves a slot unused for a tenth of a window is found", async () => {
    const create: CreateLimiter = (settings, ...others) =>
      new RateLimiter({ ...settings, windowMs: settings.windowMs * 1.1 }, ...others);
    expect((await cases(50, 1, create)).failure).toMatch(/the earliest possible time is/);
  });
});
