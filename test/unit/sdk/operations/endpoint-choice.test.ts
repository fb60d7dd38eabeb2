import { describe, expect, it } from "vitest";
import { chooseEndpoint, differenceOf, type WebhookEndpoint } from "../../../../sdk/operations/webhooks.ts";

const url = "https://receiver.example/webhooks";
/** An endpoint that was created in this second. */
const at = (id: string, second: string, changes: Partial<WebhookEndpoint> = {}): WebhookEndpoint => ({
  id,
  url,
  description: "",
  enabled: true,
  eventTypes: null,
  createdAt: `2026-01-15T12:00:${second}Z`,
  updatedAt: "2026-01-15T12:00:00Z",
  ...changes,
});
const events = { eventTypes: ["task.failed"] };
const elsewhere = { url: "https://receiver.example/other" };

describe("the endpoint of a URL", () => {
  const written = { url: "HTTPS://receiver.example:443/webhooks" };
  // What is expected: the one that is kept, its duplicates, and others of the URL.
  it.each<[title: string, all: readonly WebhookEndpoint[], stored: string, expected: string]>([
    ["none", [at("a", "00", elsewhere)], "", "//"],
    ["the oldest of equal ones", [at("a", "01"), at("b", "00.5"), at("c", "00.500")], "", "b/ca/"],
    ["the oldest that equals the stored one", [at("a", "00"), at("b", "01")], "b", "a/b/"],
    ["the stored one before one as wanted", [at("a", "00"), at("b", "01", events)], "b", "b//a"],
    ["one as wanted before an older one", [at("a", "00", events), at("b", "01")], "", "b//a"],
    ["the oldest of others", [at("b", "01", { description: "b" }), at("a", "00", events)], "", "a//b"],
    ["one whose URL is written differently", [at("a", "00", written)], "", "a//"],
    ["the stored one, however its URL is written", [at("a", "00", elsewhere)], "a", "a//"],
  ])("is %s", (_, all, endpointId, expected) => {
    const ids = (list: readonly WebhookEndpoint[]) => list.map(({ id }) => id).join("");
    const { kept, duplicates, others } = chooseEndpoint(all, { url }, { url, endpointId });
    expect([kept?.id, ids(duplicates), ids(others)].join("/")).toBe(expected);
  });

  it("is not that of an earlier URL of the store", () => {
    const stored = { url: elsewhere.url, endpointId: "a" };
    expect(chooseEndpoint([at("a", "00", elsewhere)], { url }, stored).kept).toBeUndefined();
  });
});

it.each([
  ["nothing", {}, {}, undefined],
  ["nothing for the same events", { eventTypes: ["a", "b"] }, { eventTypes: ["b", "a", "b"] }, undefined],
  ["nothing for a description that is not given", { description: "a" }, {}, undefined],
  ["a cleared description", { description: "a" }, { description: null }, { description: null }],
  [
    "all of them",
    { enabled: false, ...events },
    { description: "b" },
    { enabled: true, description: "b", eventTypes: null },
  ],
])("what differs is %s", (_, has, wanted, expected) => {
  expect(differenceOf(at("a", "00", has), { url, ...wanted })).toEqual(expected);
});
