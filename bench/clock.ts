import type { Clock } from "workspace-tasks/sdk";

/** The machine's clock, as a base of clocks of which only a part is different. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
