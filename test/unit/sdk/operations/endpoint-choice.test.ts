import { describe, expect, it } from "vitest";
import { chooseEndpoint, differenceOf } from "../../../../sdk/operations/endpoint-choice.ts";
import type { WebhookEndpoint } from "../../../../sdk/operations/webhook-endpoints.ts";

const url = "https://receiver.example/webhooks";
const endpoint = (
  id: string,
  createdAt: string,
  changes: Partial<WebhookEndpoint> = {},
): WebhookEndpoint => ({
  ...{ id, url, description: "", enabled: true, eventTypes: null },
  ...{ createdAt: `2026-01-15T12:00:${createdAt}Z`, updatedAt: "2026-01-15T12:00:00Z" },
  ...changes,
});
const events = { eventTypes: ["task.failed"] };
const elsewhere = { url: "https://receiver.example/other" };

describe("the endpoint of a URL", () => {
  const cases: readonly (readonly [
    title: string,
    all: readonly WebhookEndpoint[],
    stored: string,
    expected: readonly [kept: string | undefined, duplicates: string, others: string],
  ])[] = [
    ["none", [endpoint("a", "00", elsewhere)], "", [undefined, "", ""]],
    [
      "the oldest of equal ones",
      [endpoint("a", "01"), endpoint("b", "00.5"), endpoint("c", "00.500")],
      "",
      ["b", "ca", ""],
    ],
    [
      "the oldest that equals the stored one",
      [endpoint("a", "00"), endpoint("b", "01")],
      "b",
      ["a", "b", ""],
    ],
    [
      "the stored one before one as wanted",
      [endpoint("a", "00"), endpoint("b", "01", events)],
      "b",
      ["b", "", "a"],
    ],
    [
      "one as wanted before an older one",
      [endpoint("a", "00", events), endpoint("b", "01")],
      "",
      ["b", "", "a"],
    ],
    [
      "the oldest where none is as wanted",
      [endpoint("b", "01", { description: "b" }), endpoint("a", "00", events)],
      "",
      ["a", "", "b"],
    ],
    [
      "one whose URL is written differently",
      [endpoint("a", "00", { url: "HTTPS://receiver.example:443/webhooks" })],
      "",
      ["a", "", ""],
    ],
    [
      "the stored one, however the service writes its URL",
      [endpoint("a", "00", elsewhere)],
      "a",
      ["a", "", ""],
    ],
  ];
  it.each(cases)("is %s", (_, all, endpointId, [keptId, duplicateIds, otherIds]) => {
    const ids = (list: readonly WebhookEndpoint[]) => list.map(({ id }) => id).join("");
    const { kept, duplicates, others } = chooseEndpoint(all, { url }, { url, endpointId });
    expect([kept?.id, ids(duplicates), ids(others)]).toEqual([keptId, duplicateIds, otherIds]);
  });

  it("is not that of an earlier URL of the store", () => {
    const stored = { url: elsewhere.url, endpointId: "a" };
    expect(chooseEndpoint([endpoint("a", "00", elsewhere)], { url }, stored).kept).toBeUndefined();
  });
});

it.each([
  ["nothing", {}, {}, undefined],
  [
    "nothing for the same events in another order",
    { eventTypes: ["a", "b"] },
    { eventTypes: ["b", "a", "b"] },
    undefined,
  ],
  ["nothing for a description that is not given", { description: "a" }, {}, undefined],
  ["a cleared description", { description: "a" }, { description: null }, { description: null }],
  [
    "all of them",
    { enabled: false, ...events },
    { description: "b" },
    { enabled: true, description: "b", eventTypes: null },
  ],
])("what differs is %s", (_, has, wanted, expected) => {
  expect(differenceOf(endpoint("a", "00", has), { url, ...wanted })).toEqual(expected);
});
