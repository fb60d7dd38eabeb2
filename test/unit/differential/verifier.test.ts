import { describe, expect, it } from "vitest";
import { compareVerifiers } from "./compare-verifiers.ts";
import { listedDifferences } from "./verifier-differences.ts";

const cases = (count: number, listed = listedDifferences) =>
  compareVerifiers(1, (done) => done >= count, listed);

describe("the verifier beside standardwebhooks", () => {
  it("the first 4,000 generated requests differ only as listed, and meet every listed difference", async () => {
    const { failure, met } = await cases(4_000);
    expect(failure).toBeUndefined();
    expect([...met].toSorted()).toEqual(listedDifferences.map(({ id }) => id).toSorted());
  });

  it("a difference that is not listed fails", async () => {
    const { failure } = await cases(1_000, []);
    expect(failure).toMatch(/alone accepts\s+request \d+ \(/);
  });
});
