import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isFullDepth } from "../../support/depth.ts";
import { createVerifierPart } from "./compare-verifiers.ts";
import { runPart } from "./differential-part.ts";
import { listedDifferences } from "./verifier-differences.ts";

const cases = (count: number, from: number, listed = listedDifferences) =>
  runPart(createVerifierPart(listed), from, (done) => done >= count);

describe("the verifier beside standardwebhooks", () => {
  it("the first 4,000 generated requests differ only as listed, and meet every listed difference", async () => {
    const { failure, met } = await cases(4_000, 1);
    expect(failure).toBeUndefined();
    expect([...met].toSorted()).toEqual(listedDifferences.map(({ id }) => id).toSorted());
  });

  if (isFullDepth) {
    it("1,000 requests of new seeds differ only as listed", async () => {
      expect((await cases(1_000, randomInt(2 ** 31))).failure).toBeUndefined();
    });
  }

  it("a difference that is not listed fails", async () => {
    const { failure } = await cases(1_000, 1, []);
    expect(failure).toMatch(/alone accepts\s+request \d+ \(/);
  });
});
