export interface TimerOptions {
  /** Nothing awaits this timer (a poll, a renewal, a heartbeat): it does not keep the process alive. Default false. */
  readonly background?: boolean | undefined;
}

/** The SDK's source of time; tests pass a virtual one. */
export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that never go back; measures all waiting and expiry. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void, options?: TimerOptions): () => void;
}

/** Returns a number of at least 0 and below 1. */
export type Random = () => number;

export const systemRandom: Random = Math.random;

/** The longest delay of `setTimeout`; it turns a longer one into 1 ms. */
export const timerDelayMsMax = 2_147_483_647;

/** The clock of the machine. Its timers keep the process alive, except those in the background. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, run, { background = false } = {}) {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), timerDelayMsMax));
    // In a browser a timer is a number.
    if (background && typeof timer === "object") timer.unref();
    return () => clearTimeout(timer);
  },
};
