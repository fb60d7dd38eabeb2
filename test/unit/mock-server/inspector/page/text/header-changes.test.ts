import { describe, expect, it } from "vitest";
import { headerChanges } from "../../../../../../mock-server/inspector/page/src/text/header-changes.ts";

describe("the changes of headers", () => {
  it("begin with what differs, and mark what only one of the two has", () => {
    const before = { host: "a", "x-old": "1", "webhook-timestamp": "1" };
    const after = { host: "a", "webhook-timestamp": "2", "x-new": "3" };
    expect(headerChanges(before, after).map(({ sign, name, value }) => `${sign} ${name}: ${value}`)).toEqual([
      "- x-old: 1",
      "- webhook-timestamp: 1",
      "+ webhook-timestamp: 2",
      "+ x-new: 3",
      "  host: a",
    ]);
  });

  it("are none without another message", () => {
    expect(headerChanges(undefined, { host: "a" })).toEqual([{ sign: " ", name: "host", value: "a" }]);
  });
});
