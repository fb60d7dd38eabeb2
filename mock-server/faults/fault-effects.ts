import { type Caller, endToken, keyIdOf } from "../rules/identity/caller.ts";
import type { World } from "../world/world.ts";
import type { FaultEffects } from "./serve-with-faults.ts";

/** What the faults of one call do to the world. */
export function faultEffects(world: World, caller: () => Caller): FaultEffects {
  return {
    wait: (delayMs) => waitOnClock(world, delayMs),
    expireToken: () => endToken(world, caller()),
    burnQuota(requests) {
      const keyId = keyIdOf(caller());
      if (keyId !== null) world.limiter.burn(keyId, world.clock.now(), requests ?? undefined);
    },
  };
}

/** Resolves after `delayMs` on the mock's clock, or when the world ends. */
function waitOnClock(world: World, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      world.signal.removeEventListener("abort", finish);
      resolve();
    };
    world.schedule(delayMs, finish);
    world.signal.addEventListener("abort", finish, { once: true });
  });
}
