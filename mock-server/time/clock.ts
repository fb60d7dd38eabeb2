export interface TimerOptions {
  /** Nothing awaits this timer (a poll, a renewal, a heartbeat): it does not keep the process alive. Default false. */
  readonly background?: boolean | undefined;
}

/** The time of everything in the mock that waits, expires or has a timestamp. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds from an arbitrary origin; never decreases. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void, options?: TimerOptions): () => void;
}

// Node fires a timer at once when its delay does not fit in 31 bits, so longer waits are split.
const delayMsMax = 2 ** 31 - 1;

/** The computer's own clock. Its timers keep the process alive, except those in the background. */
export function createRealClock(): Clock {
  const schedule: Clock["schedule"] = (delayMs, run, { background = false } = {}) => {
    let timer: NodeJS.Timeout;
    const wait = (remainingMs: number) => {
      const stepMs = Math.min(remainingMs, delayMsMax);
      timer = setTimeout(() => (remainingMs > stepMs ? wait(remainingMs - stepMs) : run()), stepMs);
      if (background) timer.unref();
    };
    wait(Math.max(0, delayMs));
    return () => clearTimeout(timer);
  };
  return { now: Date.now, monotonic: () => performance.now(), schedule };
}
