import type { Clock } from "@workspace-tasks/receiver-kit";

/** A clock that moves only when a test sets it. Its timers are real. */
export class FrozenClock implements Clock {
  ms: number;
  /** Monotonic time that the wall clock does not show. */
  hiddenMs = 0;

  constructor(ms: number) {
    this.ms = ms;
  }

  now = () => this.ms;
  monotonic = () => this.ms + this.hiddenMs;
  schedule = (delayMs: number, run: () => void) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  };
}
