import type { Clock } from "@workspace-tasks/sdk";

/** The process's clock; looked up at each call, so that fake timers can replace it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
