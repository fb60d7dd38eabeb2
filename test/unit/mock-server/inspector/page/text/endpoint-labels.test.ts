import { describe, expect, it } from "vitest";
import {
  labelOfEndpoint,
  reasonOfFailure,
} from "../../../../../../mock-server/inspector/page/src/text/endpoint-labels.ts";

describe("the label of an endpoint", () => {
  it.each([
    ["https://a.example/webhooks", "a.example/webhooks"],
    ["https://a.example/", "a.example"],
    [`https://a.example/${"harbour-street/".repeat(12)}webhooks`, "a.example/…et/harbour-street/webhooks"],
    [null, "a deleted endpoint"],
  ])("of %s has its host and the end of its path", (url, label) => {
    expect(labelOfEndpoint(url, 37)).toBe(label);
  });

  it("has at most so many characters, of any URL", () => {
    for (const host of ["a.example", `${"long-".repeat(20)}host.example`])
      for (const path of ["", "/hooks", `/${"x".repeat(300)}`])
        expect(labelOfEndpoint(`https://${host}${path}`, 32).length).toBeLessThanOrEqual(32);
  });
});

it.each([
  ["ECONNREFUSED: nothing listens there", "refused"],
  ["no response within 15000 ms", "timed out"],
  ["no complete response within 15000 ms", "timed out"],
  ["ECONNRESET: the receiver closed the connection", "no response"],
])("an attempt that ended with %s: %s", (error, reason) => {
  expect(reasonOfFailure(error)).toBe(reason);
});
