import { describe, expect, it } from "vitest";
import { didYouMean, editDistance } from "../../../../sdk/kernel/did-you-mean.ts";

describe("a suggestion", () => {
  it.each([
    ["timeoutms", "timeoutMs", true],
    ["TIMEOUTMS", "timeoutMs", true],
    ["timeout", "timeoutMs", true],
    ["lsit", "list", true],
    ["it", "id", true],
    ["x", "y", false],
    ["port", "seed", false],
    ["observeUrlTimeout", "observeTimeoutMs", true],
    ["retries", "timeoutMs", false],
  ])("for %s when %s is known is made: %s", (given, known, isSuggested) => {
    expect(didYouMean(given, [known])).toBe(isSuggested ? `; did you mean ${known}?` : "");
  });

  it("names the nearest of several names, and nothing when none is known", () => {
    expect(didYouMean("reties", ["rates", "retries", "tries"])).toBe("; did you mean retries?");
    expect(didYouMean("retries", [])).toBe("");
  });
});

describe("the edit distance", () => {
  it.each([
    ["", "", 0],
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["flaw", "lawn", 2],
    ["abc", "abc", 0],
  ])("from %j to %j is %i", (from, to, edits) => {
    expect(editDistance(from, to)).toBe(edits);
  });
});
