import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { expect, it } from "vitest";
import { RunningAttempts } from "../../../../receiver-kit/attempt/running-attempts.ts";

it("an attempt that is removed twice takes no other one with it", () => {
  const attempts = new RunningAttempts(systemClock);
  const first = attempts.add("a", { rows: [], batch: undefined });
  const second = attempts.add("b", { rows: [], batch: undefined });
  attempts.remove(first);
  attempts.remove(first);
  expect(attempts.oldest).toBe(second);
  expect(attempts.size).toBe(1);
});
