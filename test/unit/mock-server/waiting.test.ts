import { expect, test } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { waitFor } from "../../../mock-server/control/waiting.ts";
import { defaultSettings } from "../../../mock-server/settings.ts";
import { createWorld } from "../../../mock-server/world/world.ts";

function setUp() {
  const wallClock = createVirtualClock();
  const world = createWorld({
    epoch: 0,
    seed: 1,
    clock: createVirtualClock(),
    settings: defaultSettings,
    transport: {
      deliver: async () => ({ status: null, error: "nowhere" }),
      read: async () => ({ status: null, error: "nowhere" }),
      abort: () => {},
    },
  });
  let looks = 0;
  let found: string | undefined;
  const look = () => {
    looks++;
    return found;
  };
  return {
    world,
    wallClock,
    look,
    looks: () => looks,
    find: (value: string) => {
      found = value;
    },
  };
}

test("what is there already is given at once", async () => {
  const { world, wallClock, look, find } = setUp();
  find("it");
  expect(await waitFor(world, look, { timeoutMs: 0, wallClock })).toBe("it");
});

test("a thousand happenings of one turn cost one look", async () => {
  const { world, wallClock, look, looks, find } = setUp();
  const waiting = waitFor(world, look, { timeoutMs: 1_000, wallClock });
  for (let count = 0; count < 1_000; count++) world.emit({ type: "delivery.attempted" });
  find("it");
  expect(await waiting).toBe("it");
  expect(looks()).toBe(2);
});

test("the wait ends when the time is up, the caller goes or the world ends, and nobody listens any more", async () => {
  const { world, wallClock, look } = setUp();
  const late = waitFor(world, look, { timeoutMs: 1_000, wallClock });
  await wallClock.advance(999);
  expect(world.hasSubscribers).toBe(true);
  await wallClock.advance(1);
  expect(await late).toBeUndefined();
  const caller = new AbortController();
  const left = waitFor(world, look, { timeoutMs: 1_000, wallClock, signal: caller.signal });
  caller.abort();
  expect(await left).toBeUndefined();
  expect(world.hasSubscribers).toBe(false);
  const orphaned = waitFor(world, look, { timeoutMs: 1_000, wallClock });
  world.end();
  expect(await orphaned).toBeUndefined();
  expect(wallClock.pending().timers).toBe(0);
});
