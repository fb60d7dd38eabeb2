import { expect, it } from "vitest";
import { describePlan } from "../../../../../../mock-server/inspector/page/src/text/fault-labels.ts";

it("describePlan lists a fault plan line by line, without used instructions", () => {
  const unavailable = { kind: "status", status: 503, retryAfterSeconds: 1 } as const;
  const lines = describePlan({
    api: [
      { instructions: [] },
      { operation: "me", instructions: [unavailable, unavailable, { kind: "html" }] },
    ],
    deliveries: [
      { endpointId: "e1", chances: [{ probability: 0.15, fault: { kind: "delay", delayMs: 90_000 } }] },
    ],
  });
  expect(lines).toEqual([
    { side: "api", rule: 1, what: "HTTP 503, retry after 1 s", often: "the next 2 times", where: "me" },
    { side: "api", rule: 1, what: "an HTML page", often: "then once", where: "me" },
    { side: "deliveries", rule: 0, what: "1 min 30 s late", often: "15 % of the time", where: "e1" },
  ]);
});
