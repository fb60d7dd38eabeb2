/** Everything in the mock that waits, expires or is stamped asks this clock. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds from an arbitrary origin; never goes back. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void): () => void;
}

// Node fires a timer at once when its delay does not fit 31 bits, so longer waits go in steps.
const delayMsMax = 2 ** 31 - 1;

/** The computer's own clock. Its timers never keep the process alive. */
export function createRealClock(): Clock {
  const schedule: Clock["schedule"] = (delayMs, run) => {
    let timer: NodeJS.Timeout;
    const arm = (remainingMs: number) => {
      const stepMs = Math.min(remainingMs, delayMsMax);
      timer = setTimeout(() => (remainingMs > stepMs ? arm(remainingMs - stepMs) : run()), stepMs);
      timer.unref();
    };
    arm(Math.max(0, delayMs));
    return () => clearTimeout(timer);
  };
  return { now: Date.now, monotonic: () => performance.now(), schedule };
}
