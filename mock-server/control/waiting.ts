import type { Clock } from "../time/clock.ts";
import type { World } from "../world/world.ts";

export type WaitLimits = {
  readonly timeoutMs: number;
  /** Measures the time limit: the computer's clock, for a virtual one may stand still. */
  readonly wallClock: Clock;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Resolves with the first answer of `look` that is not `undefined`, or with `undefined` when the time
 * limit has passed, the caller has gone or the world has ended. Looks anew after things have happened,
 * once per turn of the event loop however many there were.
 */
export function waitFor<Found>(
  world: World,
  look: () => Found | undefined,
  { timeoutMs, wallClock, signal }: WaitLimits,
): Promise<Found | undefined> {
  const found = look();
  if (found !== undefined || signal?.aborted) return Promise.resolve(found);
  return new Promise((resolve) => {
    let looking = false;
    const finish = (answer: Found | undefined) => {
      stopListening();
      cancelTimeout();
      signal?.removeEventListener("abort", giveUp);
      world.signal.removeEventListener("abort", giveUp);
      resolve(answer);
    };
    const giveUp = () => finish(undefined);
    const lookAgain = () => {
      looking = false;
      const answer = look();
      if (answer !== undefined) finish(answer);
    };
    const stopListening = world.subscribe(() => {
      if (looking) return;
      looking = true;
      setImmediate(lookAgain);
    });
    const cancelTimeout = wallClock.schedule(timeoutMs, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    world.signal.addEventListener("abort", giveUp, { once: true });
  });
}
