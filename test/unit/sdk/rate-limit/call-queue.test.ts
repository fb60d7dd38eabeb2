import { describe, expect, it } from "vitest";
import { CallScope } from "../../../../sdk/call/call-scope.ts";
import { failure } from "../../../../sdk/call/failure.ts";
import { CallQueue, type Queueable } from "../../../../sdk/rate-limit/call-queue.ts";
import type { Permit } from "../../../../sdk/rate-limit/permit.ts";
import { RateLimiter } from "../../../../sdk/rate-limit/rate-limiter.ts";

import { growthOf } from "../../../support/cpu-ms.ts";
import { seeded } from "../../../support/latency.ts";

interface TestCall extends Queueable {
  readonly name: string;
}

let position = 0;

function call(name: string, priority: Queueable["priority"] = "normal"): TestCall {
  return { name, priority, position: position++ };
}

describe("the queue of calls", () => {
  it("agrees with a list that is sorted again for each call", () => {
    const random = seeded(7);
    const queue = new CallQueue<TestCall>();
    let present: TestCall[] = [];
    for (let step = 0; step < 3_000; step += 1) {
      const choice = Math.floor(random() * 4);
      if (choice >= 2) {
        const added = { ...call(`${step}`), position: Math.floor(random() * 1_000_000) };
        queue.add(added);
        present.push(added);
      } else {
        const sorted = present.toSorted((a, b) => a.position - b.position);
        const next = choice === 1 ? present[Math.floor(random() * present.length)] : sorted[0];
        expect(queue.first("normal")).toBe(sorted[0]);
        if (!next) continue;
        queue.remove(next);
        present = present.filter((each) => each !== next);
      }
      expect(queue.size).toBe(present.length);
    }
    expect(queue.values()).toHaveLength(present.length);
  });

  it("counts what is served before a call", () => {
    const queue = new CallQueue<TestCall>();
    const first = call("first");
    for (const each of [first, call("2"), call("i", "interactive")]) queue.add(each);
    expect(queue.aheadOf(call("n"))).toBe(3);
    expect(queue.aheadOf(call("i", "interactive"))).toBe(1);
    expect(queue.aheadOf(call("b", "background"))).toBe(3);
    expect(queue.aheadOf({ ...call("back"), position: first.position - 1 })).toBe(1);
  });
});

describe("waiting calls", () => {
  /** Calls enter and then leave. */
  async function enterAndLeave(count: number, leave: "aborted" | "served"): Promise<void> {
    let nowMs = 0;
    const timers = { now: () => 0, monotonic: () => nowMs, schedule: () => () => {} };
    const limiter = new RateLimiter({ limit: 2 * count, windowMs: 1_000 }, timers, () => 0.5);
    const client = { maxQueued: 1_000_000, redactCause: () => undefined, queued: 0 };
    const scopes: CallScope[] = [];
    const settled: Promise<unknown>[] = [];
    for (let each = 0; each < count; each += 1) {
      const scope = new CallScope(timers);
      const entry = limiter.enter(each % 2 === 0 ? "normal" : "background");
      const settle = (permit: Permit) => permit.responded(nowMs);
      settled.push(limiter.acquire(entry, client, scope).then(settle, () => {}));
      scopes.push(scope);
    }
    // Two are sent at the start.
    expect(limiter.snapshot().queued).toBe(count - 2);
    if (leave === "aborted") for (const scope of scopes) scope.end(failure("ABORTED", "aborted"));
    nowMs += 100;
    await Promise.all(settled);
    expect([limiter.snapshot().queued, client.queued]).toEqual([0, 0]);
  }

  it.each(["aborted", "served"] as const)(
    "that are %s cost ten times as much when there are ten times as many",
    async (leave) => {
      expect(await growthOf(500, (count) => enterAndLeave(count, leave))).toBeLessThan(40);
    },
  );
});
