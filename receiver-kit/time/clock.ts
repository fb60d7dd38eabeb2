export interface TimerOptions {
  /** Nothing awaits this timer (a poll, a renewal, maintenance): it does not keep the process alive. Default false. */
  readonly background?: boolean | undefined;
}

/** Time as the receiver kit sees it; tests and simulations pass their own. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds that never decrease. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void, options?: TimerOptions): () => void;
}

/** The clock of this machine. Its timers keep the process alive, except those in the background. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, run, { background = false } = {}) {
    const timer = setTimeout(run, delayMs);
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
};
