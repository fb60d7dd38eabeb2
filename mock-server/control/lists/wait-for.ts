import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { nextTurn, realClock } from "../../time/real-clock.ts";
import type { NumberedActivity, World } from "../../world/world.ts";

export interface WaitLimits {
  readonly timeoutMs: number;
  /** Measures the time limit. Default: the computer's clock, because a virtual one may not advance. */
  readonly wallClock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls `poll` now and after activity of the world, at most once per turn of the event loop, with the activities since the
 * call before. Resolves with its first result that is not `undefined`, or with `undefined` at the time limit and on abort. Rejects with the reason of
 * the end of the world.
 */
export function waitFor<Result>(
  world: World,
  poll: (activities: readonly NumberedActivity[]) => Result | undefined,
  { timeoutMs, wallClock = realClock, signal }: WaitLimits,
): Promise<Result | undefined> {
  if (world.ended) return Promise.reject(world.signal.reason);
  const first = poll([]);
  if (first !== undefined || signal?.aborted) return Promise.resolve(first);
  return new Promise((resolve, reject) => {
    let activities: NumberedActivity[] = [];
    const end = (settle: () => void) => {
      unsubscribe();
      cancelTimeout();
      signal?.removeEventListener("abort", giveUp);
      world.signal.removeEventListener("abort", endWithWorld);
      settle();
    };
    const giveUp = () => end(() => resolve(undefined));
    const fail = (reason: unknown) => end(() => reject(reason));
    const endWithWorld = () => fail(world.signal.reason);
    const pollAgain = () => {
      const polled = activities;
      activities = [];
      const result = poll(polled);
      if (result !== undefined) end(() => resolve(result));
    };
    const unsubscribe = world.subscribe((activity) => {
      activities.push(activity);
      if (activities.length > 1) return;
      nextTurn().then(pollAgain).catch(fail);
    });
    const cancelTimeout = wallClock.schedule(timeoutMs, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    world.signal.addEventListener("abort", endWithWorld, { once: true });
  });
}
