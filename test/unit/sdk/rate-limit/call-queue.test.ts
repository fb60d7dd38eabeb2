import { describe, expect, it } from "vitest";
import { CallScope } from "../../../../sdk/call/call-scope.ts";
import { failure } from "../../../../sdk/call/failure.ts";
import { CallQueue, type Queueable } from "../../../../sdk/rate-limit/call-queue.ts";
import { type QueueEntry, RateLimiter } from "../../../../sdk/rate-limit/rate-limiter.ts";
import { cpuMs } from "../../../support/cpu-ms.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { seeded } from "../../../support/latency.ts";

interface TestCall extends Queueable {
  readonly name: string;
}

const a = {};
const b = {};
let position = 0;

function call(name: string, owner: object = a, priority: Queueable["priority"] = "normal"): TestCall {
  return { name, owner, priority, position: position++ };
}

function serveAll(queue: CallQueue<TestCall>): readonly string[] {
  const served: string[] = [];
  for (let next = queue.first("normal"); next; next = queue.first("normal")) {
    queue.remove(next, true);
    served.push(next.name);
  }
  return served;
}

describe("the queue of calls", () => {
  it("keeps the order of a client's calls, and its clients take turns", () => {
    const queue = new CallQueue<TestCall>();
    for (const name of ["a1", "a2", "a3", "a4"]) queue.add(call(name, a));
    for (const name of ["b1", "b2"]) queue.add(call(name, b));
    expect(serveAll(queue)).toEqual(["a1", "b1", "a2", "b2", "a3", "a4"]);
  });

  it("gives a call that comes back its old position", () => {
    const queue = new CallQueue<TestCall>();
    const [first, second, third] = [call("1"), call("2"), call("3")];
    for (const each of [third, second, first]) queue.add(each);
    expect(serveAll(queue)).toEqual(["1", "2", "3"]);
  });

  it("removes an aborted call without ending its client's turn", () => {
    const queue = new CallQueue<TestCall>();
    const aborted = call("a1", a);
    queue.add(aborted);
    queue.add(call("a2", a));
    queue.add(call("b1", b));
    queue.remove(aborted, false);
    queue.remove(aborted, false);
    expect(serveAll(queue)).toEqual(["a2", "b1"]);
    expect([queue.size, queue.countOf(a), queue.waiting("normal")]).toEqual([0, 0, 0]);
  });

  it("agrees with a list that is sorted again for each call", () => {
    const random = seeded(7);
    const queue = new CallQueue<TestCall>();
    const present = new Set<TestCall>();
    for (let step = 0; step < 3_000; step += 1) {
      const owners = [a, b];
      const owner = owners[Math.floor(random() * 2)] ?? a;
      const choice = Math.floor(random() * 4);
      if (choice >= 2) {
        const added = { ...call(`${step}`, owner), position: Math.floor(random() * 1_000_000) };
        queue.add(added);
        present.add(added);
      } else if (choice === 1) {
        const [first] = present;
        if (!first) continue;
        queue.remove(first, false);
        present.delete(first);
      } else {
        const next = queue.first("normal");
        expect(next === undefined).toBe(present.size === 0);
        if (!next) continue;
        const own = [...present].filter((each) => each.owner === next.owner);
        expect(next.position).toBe(Math.min(...own.map((each) => each.position)));
        queue.remove(next, true);
        present.delete(next);
      }
      expect(queue.size).toBe(present.size);
      expect(queue.countOf(a)).toBe([...present].filter((each) => each.owner === a).length);
    }
  });

  it("counts the calls of twenty clients at most, and none of clients that have left", () => {
    const queue = new CallQueue<TestCall>();
    for (const left of Array.from({ length: 25 }, () => call("left", {}))) {
      queue.add(left);
      queue.remove(left, true);
    }
    const waiting = [call("a", a), ...Array.from({ length: 24 }, () => call("other", {}))];
    for (const each of waiting) queue.add(each);
    expect([...queue.values()]).toEqual(waiting);
    expect(queue.aheadOf(call("a", a))).toBe(20);
  });

  it("counts what is certainly served before a call", () => {
    const queue = new CallQueue<TestCall>();
    for (let each = 0; each < 4; each += 1) queue.add(call("a", a));
    for (let each = 0; each < 2; each += 1) queue.add(call("b", b));
    queue.add(call("i", b, "interactive"));
    expect(queue.aheadOf(call("a", a))).toBe(4 + 2 + 1);
    expect(queue.aheadOf(call("b", b))).toBe(2 + 2 + 1);
    expect(queue.aheadOf(call("i", a, "interactive"))).toBe(0);
    expect(queue.aheadOf(call("g", a, "background"))).toBe(7);
    expect(queue.aheadOf({ ...call("a", a), position: -1 })).toBe(1);
  });
});

describe("20,000 waiting calls", () => {
  const limit = { limit: 1, windowMs: 60_000, reserved: 0 };
  const limits = { maxQueued: 100_000, maxWaitMs: 2_000_000_000 };

  function measure(count: number) {
    const { clock } = createFakeService();
    const timers = { now: clock.now, monotonic: () => 0, schedule: () => () => {} };
    const limiter = new RateLimiter(limit, timers, () => 0.5);
    const scopes: CallScope[] = [];
    const settled: Promise<unknown>[] = [];
    const startedMs = cpuMs();
    for (let each = 0; each < count; each += 1) {
      const scope = new CallScope(timers);
      const entry: QueueEntry = limiter.enter(each % 2 === 0 ? "normal" : "background");
      settled.push(limiter.acquire(entry, limits, scope).catch(() => {}));
      scopes.push(scope);
    }
    const enqueuedMs = cpuMs() - startedMs;
    expect(limiter.snapshot().queued).toBe(count - 1);
    for (const scope of scopes) scope.end(failure("ABORTED", "aborted"));
    const abortedMs = cpuMs() - startedMs - enqueuedMs;
    expect(limiter.snapshot().queued).toBe(0);
    return { enqueuedMs, abortedMs, settled: Promise.all(settled) };
  }

  it("enter and are aborted in less than a second each, where a list that is searched takes five", async () => {
    await measure(2_000).settled;
    const { enqueuedMs, abortedMs, settled } = measure(20_000);
    await settled;
    expect(enqueuedMs).toBeLessThan(1_000);
    expect(abortedMs).toBeLessThan(1_000);
  });
});
