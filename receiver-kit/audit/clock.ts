import { type Clock, systemClock } from "../clock.ts";

/** The machine's clock. Unlike the kit's own, its timers keep the process alive: at times an audit waits for nothing else. */
export const keepAliveClock: Clock = {
  ...systemClock,
  schedule(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
