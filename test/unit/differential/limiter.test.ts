import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { RateLimiter } from "../../../sdk/rate-limit/rate-limiter.ts";
import { isFullDepth } from "../../support/depth.ts";
import { type CreateLimiter, createLimiterPart } from "./compare-limiter.ts";
import { runPart } from "./differential-part.ts";

const cases = (count: number, from: number, create?: CreateLimiter) =>
  runPart(createLimiterPart(create), from, (done) => done >= count);

describe("the rate limiter beside an exact simulation of the service", () => {
  it("150 scenarios never exceed the limit and reach the bounds", async () => {
    expect((await cases(150, 1)).failure).toBeUndefined();
  });

  if (isFullDepth) {
    it("30 scenarios of new seeds never exceed the limit and reach the bounds", async () => {
      expect((await cases(30, randomInt(2 ** 31))).failure).toBeUndefined();
    });
  }

  it("a limiter that permits one request more is found", async () => {
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
