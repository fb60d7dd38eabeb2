import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { waitFor } from "../../../../../mock-server/control/lists/wait-for.ts";
import { createTestWorld } from "../../../../support/mock-world.ts";

function setUp() {
  const wallClock = createVirtualClock();
  const { world } = createTestWorld();
  const state: { polls: number; result: string | undefined } = { polls: 0, result: undefined };
  const poll = () => {
    state.polls++;
    return state.result;
  };
  return { world, wallClock, state, poll };
}

describe("waitFor", () => {
  it("polls once for a thousand activities of one turn", async () => {
    const { world, wallClock, poll, state } = setUp();
    const waiting = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    for (let count = 0; count < 1_000; count++) world.emit({ type: "delivery.attempted" });
    state.result = "it";
    expect(await waiting).toBe("it");
    expect(state.polls).toBe(2);
  });

  it("ends at the time limit, on abort and with the world, and then has no subscription or timer", async () => {
    const { world, wallClock, poll } = setUp();
    const late = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    await wallClock.advance(999);
    expect(world.hasSubscribers).toBe(true);
    await wallClock.advance(1);
    expect(await late).toBeUndefined();
    const caller = new AbortController();
    const aborted = waitFor(world, poll, { timeoutMs: 1_000, wallClock, signal: caller.signal });
    caller.abort();
    expect(await aborted).toBeUndefined();
    expect(world.hasSubscribers).toBe(false);
    const orphaned = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    const reason = new Error("closed");
    world.end(reason);
    await expect(orphaned).rejects.toBe(reason);
    await expect(waitFor(world, poll, { timeoutMs: 1_000, wallClock })).rejects.toBe(reason);
    expect(wallClock.pending().timers).toBe(0);
  });

  it("rejects with what a poll after an activity throws", async () => {
    const { world, wallClock } = setUp();
    let polls = 0;
    const poll = () => {
      if (polls++ > 0) throw new Error("no comparison");
      return undefined;
    };
    const waiting = waitFor(world, poll, { timeoutMs: 1_000, wallClock });
    world.emit({ type: "delivery.attempted" });
    await expect(waiting).rejects.toThrow("no comparison");
    expect(world.hasSubscribers).toBe(false);
  });
});
