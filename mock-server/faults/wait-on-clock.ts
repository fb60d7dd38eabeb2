import type { World } from "../world/world.ts";

/** Resolves after so much time on the mock's clock, or when the world ends: nothing waits for a dead clock. */
export function waitOnClock(world: World, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      world.signal.removeEventListener("abort", finish);
      resolve();
    };
    world.schedule(delayMs, finish);
    world.signal.addEventListener("abort", finish, { once: true });
  });
}
