import { createVirtualClock } from "@workspace-tasks/mock-server";
import { expect, it } from "vitest";
import { CallScope } from "../../../../sdk/call/call-scope.ts";

it("a scope sets no timer before something waits, and ends at its limit without one", async () => {
  const clock = createVirtualClock();
  const scope = new CallScope(clock, { limitMs: 1_000 });
  expect(clock.pending().timers).toBe(0);
  await clock.advance(1_000);
  expect(scope.failure?.code).toBe("DEADLINE_EXCEEDED");
  expect(scope.child().failure?.code).toBe("DEADLINE_EXCEEDED");
});
