export interface TimerOptions {
  /** Nothing awaits this timer (a poll, a renewal, a heartbeat): it does not keep the process alive. Default false. */
  readonly background?: boolean | undefined;
}

/** The source of time of everything that waits, expires or has a timestamp; tests pass a virtual one. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. May jump. */
  now(): number;
  /** Milliseconds from an arbitrary origin that never go back; measures all waiting and expiry. */
  monotonic(): number;
  /** Runs `run` once after `delayMs`; the returned function cancels it. */
  schedule(delayMs: number, run: () => void, options?: TimerOptions): () => void;
}

/** The longest delay of `setTimeout`; it turns a longer one into 1 ms. */
export const timerDelayMsMax = 2_147_483_647;

/** What a clock of the machine is made of. */
export type Timers = Pick<typeof globalThis, "setTimeout" | "clearTimeout"> & {
  readonly performance: { now(): number };
};

/**
 * The clock of the machine. Its timers keep the process alive, except those in the background. A longer wait than one
 * timer can have is split. It uses the global timers as they are when it schedules, so fake timers of a test runner apply.
 */
export const systemClock = createSystemClock(globalThis);

/** A clock like `systemClock` with other timers. Its wall time is the global one. */
export function createSystemClock(timers: Timers): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => timers.performance.now(),
    schedule(delayMs, run, { background = false } = {}) {
      // Fake timers may be installed before it is cancelled. A browser's timers are no methods of another object.
      const { setTimeout: start, clearTimeout: clear } = timers;
      let timer: ReturnType<typeof setTimeout>;
      const wait = (remainingMs: number) => {
        const stepMs = Math.min(remainingMs, timerDelayMsMax);
        timer = start(() => (remainingMs > stepMs ? wait(remainingMs - stepMs) : run()), stepMs);
        // In a browser a timer is a number.
        if (background && typeof timer === "object") timer.unref();
      };
      wait(Math.max(0, delayMs));
      return () => clear(timer);
    },
  };
}
