import { type Caller, endToken, keyIdOf } from "../rules/identity/caller.ts";
import type { Hold } from "../time/work-in-flight.ts";
import type { World } from "../world/world.ts";
import type { FaultEffects } from "./serve-with-faults.ts";

/**
 * What the faults of one call do to the world.
 * @param hold makes virtual time wait for the call, except while the call waits for time
 */
export function faultEffects(
  world: World,
  caller: () => Caller,
  hold: Pick<Hold, "pause" | "resume"> | null = null,
): FaultEffects {
  return {
    wait: (delayMs) => waitOnClock(world, delayMs, hold),
    expireToken: () => endToken(world, caller()),
    burnQuota(requests) {
      const keyId = keyIdOf(caller());
      if (keyId !== null) world.limiter.burn(keyId, world.clock.now(), requests ?? undefined);
    },
  };
}

/** Resolves after `delayMs` on the mock's clock, or when the world ends. */
function waitOnClock(
  world: World,
  delayMs: number,
  hold: Pick<Hold, "pause" | "resume"> | null,
): Promise<void> {
  const waited = new Promise<void>((resolve) => {
    const finish = () => {
      hold?.resume();
      world.signal.removeEventListener("abort", finish);
      resolve();
    };
    world.schedule(delayMs, finish);
    world.signal.addEventListener("abort", finish, { once: true });
  });
  hold?.pause();
  return waited;
}
