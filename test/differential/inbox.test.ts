import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isFullDepth } from "../support/depth.ts";
import { type ComparedInboxes, createInboxPart } from "./compare-inbox.ts";
import { createPartResult, runPart } from "./differential-part.ts";
import { type OpenInboxes, openInboxes } from "./open-inboxes.ts";

let opened: OpenInboxes;
beforeAll(async () => {
  opened = await openInboxes();
});
afterAll(() => opened[Symbol.asyncDispose]());

const cases = async (count: number, from: number, compared: ComparedInboxes = opened) => {
  const result = createPartResult(from);
  await runPart(
    createInboxPart(async () => compared),
    result,
    (so) => so.count >= count,
  );
  return result;
};

describe("the inboxes in memory and on SQLite beside a naive oracle", () => {
  it("40 sequences of calls return and store the same", async () => {
    expect((await cases(40, 1)).failure).toBeUndefined();
  });

  if (isFullDepth) {
    it("10 sequences of new seeds return and store the same", async () => {
      expect((await cases(10, randomInt(2 ** 31))).failure).toBeUndefined();
    });
  }

  it("an inbox that differs is found, with the calls that are needed", async () => {
    const { clock, inboxes } = opened;
    const [memory] = inboxes;
    const forgetful = { ...memory!.inbox, discard: async () => false };
    const { failure } = await cases(40, 1, { clock, inboxes: [{ name: "forgetful", inbox: forgetful }] });
    const [problem = "", ...calls] = failure?.split("\n") ?? [];
    expect(problem).toMatch(/discard: returned: the oracle: true, forgetful: false$/);
    expect(calls.length).toBeLessThanOrEqual(8);
  });
});
