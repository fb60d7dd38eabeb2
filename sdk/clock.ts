/** Time as the SDK sees it; a test hands in a virtual one. */
export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that never go back; all waiting and expiry is measured with it. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void): () => void;
}

/** Gives a number of at least 0 and below 1. */
export type Random = () => number;

export const systemRandom: Random = Math.random;

// setTimeout turns a longer delay into 1 ms.
const timerDelayMsMax = 2_147_483_647;

/**
 * The clock of the machine.
 *
 * Its timers keep the process alive: each of them is a call somebody awaits, and a process that ends
 * in the middle of a call would lose it without a word.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, run) {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), timerDelayMsMax));
    return () => clearTimeout(timer);
  },
};
