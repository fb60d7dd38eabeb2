import { describe, expect, it } from "vitest";
import { CallScope } from "../../../../sdk/call/call-scope.ts";
import { failure } from "../../../../sdk/call/failure.ts";
import { type Permit, RateLimiter } from "../../../../sdk/rate-limit/rate-limiter.ts";
import { growthOf } from "../../../support/cpu-ms.ts";

describe("waiting calls", () => {
  /** Calls enter and then leave. */
  async function enterAndLeave(count: number, leave: "aborted" | "served"): Promise<void> {
    let nowMs = 0;
    const timers = { now: () => 0, monotonic: () => nowMs, schedule: () => () => {} };
    const limiter = new RateLimiter(
      { limit: 2 * count, windowMs: 1_000 },
      {
        clock: timers,
        random: () => 0.5,
        redactor: { cause: () => undefined },
      },
    );
    const scopes: CallScope[] = [];
    const settled: Promise<unknown>[] = [];
    for (let each = 0; each < count; each += 1) {
      const scope = new CallScope(timers);
      const entry = limiter.enter(each % 2 === 0 ? "normal" : "background");
      const settle = (permit: Permit) => permit.responded(nowMs);
      settled.push(limiter.acquire(entry, count, scope).then(settle, () => {}));
      scopes.push(scope);
    }
    // Two are sent at the start.
    expect(limiter.snapshot().queued).toBe(count - 2);
    if (leave === "aborted") for (const scope of scopes) scope.end(failure("ABORTED", "aborted"));
    nowMs += 100;
    await Promise.all(settled);
    expect(limiter.snapshot().queued).toBe(0);
  }

  it.each(["aborted", "served"] as const)(
    "that are %s cost ten times as much when there are ten times as many",
    async (leave) => {
      expect(await growthOf(500, (count) => enterAndLeave(count, leave))).toBeLessThan(40);
    },
  );
});
