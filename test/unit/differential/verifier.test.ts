import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isFullDepth } from "../../support/depth.ts";
import { createVerifierPart, packagePeers } from "./compare-verifiers.ts";
import { runPart } from "./differential-part.ts";

const cases = (count: number, from: number, peers = packagePeers) =>
  runPart(createVerifierPart(peers), from, (done) => done >= count);

describe("the verifier beside standardwebhooks and svix", () => {
  it("the first 4,000 generated requests differ only as listed, and meet every listed difference", async () => {
    const { failure, counts } = await cases(4_000, 1);
    expect(failure).toBeUndefined();
    for (const { name, differences } of packagePeers) {
      for (const { id } of differences.libraryAlone)
        expect(counts).toHaveProperty([`${name} accepts: ${id}`]);
      for (const { id } of differences.kitAlone) expect(counts).toHaveProperty([`${name} rejects: ${id}`]);
    }
  });

  if (isFullDepth) {
    it("1,000 requests of new seeds differ only as listed", async () => {
      expect((await cases(1_000, randomInt(2 ** 31))).failure).toBeUndefined();
    });
  }

  it.each(packagePeers)("a difference from $name that is not listed fails", async (peer) => {
    const unlisted = { ...peer, differences: { libraryAlone: [], kitAlone: [] } };
    const { failure } = await cases(1_000, 1, [unlisted]);
    expect(failure).toMatch(/alone accepts[\s\S]*request \d+ \(/);
  });
});
