import { expect, it } from "vitest";
import {
  describeMatch,
  describeRule,
} from "../../../../../../mock-server/inspector/page/src/text/fault-labels.ts";

it("a rule of a fault plan is described by its faults, how often, and where; a used one by nothing", () => {
  const unavailable = { kind: "status", status: 503, retryAfterSeconds: 1 } as const;
  const rule = { operation: "me", instructions: [unavailable, unavailable, { kind: "html" } as const] };
  expect(describeRule(rule)).toBe(
    "HTTP 503, retry after 1 s, the next 2 times, then an HTML page, the next time",
  );
  expect(describeMatch(rule)).toBe("me");
  const late = { probability: 0.15, fault: { kind: "delay", delayMs: 90_000 } as const };
  expect(describeRule({ chances: [late] })).toBe("1 min 30 s late, 15 % of the time");
  expect(describeRule({ instructions: [] })).toBe("");
});
