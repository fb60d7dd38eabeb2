/** The time of everything in the mock that waits, expires or has a timestamp. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds from an arbitrary origin; never decreases. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void): () => void;
}

// Node fires a timer at once when its delay does not fit in 31 bits, so longer waits are split.
const delayMsMax = 2 ** 31 - 1;

/** The computer's own clock. Its timers do not keep the process alive unless `keepsAlive`. */
export function createRealClock({ keepsAlive = false } = {}): Clock {
  const schedule: Clock["schedule"] = (delayMs, run) => {
    let timer: NodeJS.Timeout;
    const wait = (remainingMs: number) => {
      const stepMs = Math.min(remainingMs, delayMsMax);
      timer = setTimeout(() => (remainingMs > stepMs ? wait(remainingMs - stepMs) : run()), stepMs);
      if (!keepsAlive) timer.unref();
    };
    wait(Math.max(0, delayMs));
    return () => clearTimeout(timer);
  };
  return { now: Date.now, monotonic: () => performance.now(), schedule };
}
