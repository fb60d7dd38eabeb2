import { getEventListeners } from "node:events";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { CallScope } from "../../../../sdk/call/call-scope.ts";
import { failure } from "../../../../sdk/call/failure.ts";

const closed = failure("CLIENT_CLOSED", "closed");

describe("a scope", () => {
  it("a scope fails its work with DEADLINE_EXCEEDED when its limit elapses", async () => {
    const clock = createVirtualClock();
    const scope = new CallScope(clock, { limitMs: 1_000 });
    const work = scope.race(new Promise(() => {})).catch((error: unknown) => error);
    await clock.advance(999);
    expect([scope.failure, scope.remainingMs()]).toEqual([undefined, 1]);
    await clock.advance(1);
    expect(await work).toMatchObject({ failure: { code: "DEADLINE_EXCEEDED", outcome: "not_sent" } });
    expect(scope.remainingMs()).toBe(0);
  });

  it("a scope fails its work with the reason of its signal", async () => {
    const controller = new AbortController();
    const scope = new CallScope(createVirtualClock(), { signal: controller.signal });
    const work = scope.race(new Promise(() => {})).catch((error: unknown) => error);
    controller.abort("enough");
    expect(await work).toMatchObject({ failure: { code: "ABORTED", cause: "enough" } });
  });

  it("a scope with an aborted signal has ended at once", () => {
    const scope = new CallScope(createVirtualClock(), { signal: AbortSignal.abort() });
    expect(scope.failure?.code).toBe("ABORTED");
  });

  it("a scope keeps its first failure", () => {
    const scope = new CallScope(createVirtualClock());
    scope.end(closed);
    scope.end(failure("ABORTED", "later"));
    expect(scope.failure).toBe(closed);
  });

  it("a scope that has ended calls a new listener at once", () => {
    const scope = new CallScope(createVirtualClock());
    scope.end(closed);
    const seen: unknown[] = [];
    scope.onEnd((failure) => seen.push(failure));
    expect(seen).toEqual([closed]);
  });

  it("a scope settles with its work and removes the listener", async () => {
    const scope = new CallScope(createVirtualClock());
    expect(await scope.race(Promise.resolve("done"))).toBe("done");
    await expect(scope.race(Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  it("a sleep resolves after its delay, and an ended scope cuts it short", async () => {
    const clock = createVirtualClock();
    const scope = new CallScope(clock);
    const slept = scope.sleep(500).then(() => clock.monotonic());
    const cut = scope.sleep(5_000).catch((error: unknown) => error);
    await clock.advance(600);
    scope.end(closed);
    expect(await slept).toBe(500);
    expect(await cut).toMatchObject({ failure: closed });
    expect(clock.pending().timers).toBe(0);
  });

  it("a scope sets no timer before something waits, and ends at its limit without one", async () => {
    const clock = createVirtualClock();
    const scope = new CallScope(clock, { limitMs: 1_000 });
    expect(clock.pending().timers).toBe(0);
    await clock.advance(1_000);
    expect(scope.failure?.code).toBe("DEADLINE_EXCEEDED");
    expect(scope.child().failure?.code).toBe("DEADLINE_EXCEEDED");
  });

  it("a disposed scope holds no timer and no listener on its signal", () => {
    const clock = createVirtualClock();
    const { signal } = new AbortController();
    const scope = new CallScope(clock, { limitMs: 1_000, signal });
    scope.onEnd(() => {});
    expect([clock.pending().timers, getEventListeners(signal, "abort").length]).toEqual([1, 1]);
    scope.dispose();
    expect([clock.pending().timers, getEventListeners(signal, "abort").length]).toEqual([0, 0]);
  });
});

describe("a child scope", () => {
  it("a child scope ends with its parent", () => {
    const parent = new CallScope(createVirtualClock());
    const grandchild = parent.child().child();
    parent.end(closed);
    expect(grandchild.failure).toBe(closed);
  });

  it("a child scope of an ended parent has ended at once", () => {
    const parent = new CallScope(createVirtualClock());
    parent.end(closed);
    expect(parent.child().failure).toBe(closed);
  });

  it("a child scope ends at its own limit, and its parent continues", async () => {
    const clock = createVirtualClock();
    const parent = new CallScope(clock, { limitMs: 5_000 });
    const timedOut = (limitMs: number) => failure("REQUEST_TIMEOUT", `${limitMs} ms`);
    const child = parent.child({ limitMs: 1_000, onLimit: timedOut });
    await clock.advance(1_000);
    expect(child.failure).toEqual(timedOut(1_000));
    expect(parent.failure).toBeUndefined();
  });

  it("a child scope has no more time left than its parent", () => {
    const parent = new CallScope(createVirtualClock(), { limitMs: 300 });
    expect(parent.child({ limitMs: 1_000 }).remainingMs()).toBe(300);
    expect(parent.child({ limitMs: 100 }).remainingMs()).toBe(100);
    expect(parent.child().remainingMs()).toBe(300);
  });

  it("a child scope sets one timer, for whichever limit elapses first", async () => {
    const clock = createVirtualClock();
    const parent = new CallScope(clock, { limitMs: 300 });
    const timedOut = (limitMs: number) => failure("REQUEST_TIMEOUT", `${limitMs} ms`);
    const child = parent.child({ limitMs: 1_000, onLimit: timedOut });
    const work = child.race(new Promise(() => {})).catch((error: unknown) => error);
    expect(clock.pending().timers).toBe(1);
    await clock.advance(300);
    expect(await work).toMatchObject({ failure: { code: "DEADLINE_EXCEEDED" } });
    child.dispose();
    expect(clock.pending().timers).toBe(0);
  });

  it("a disposed child scope is not ended by its parent any more", () => {
    const parent = new CallScope(createVirtualClock());
    const child = parent.child();
    child.dispose();
    parent.end(closed);
    expect(child.failure).toBeUndefined();
  });
});
