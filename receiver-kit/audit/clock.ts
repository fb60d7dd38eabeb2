import { type Clock, systemClock } from "../clock.ts";

/** The system clock with timers that keep the process alive: sometimes check-receiver waits for nothing else. */
export const keepAliveClock: Clock = {
  ...systemClock,
  schedule(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
