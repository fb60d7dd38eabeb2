import type { Clock } from "@workspace-tasks/kernel/clock.ts";

/**
 * Runs `run` once the process could have noticed a response for `limitMs`: however long it did not run meanwhile (a busy
 * machine, a long computation), that counts as one step of the limit, and what has arrived is read before the next step.
 * The returned function cancels it.
 */
export function scheduleAwakeLimit(clock: Clock, limitMs: number, run: () => void): () => void {
  const stepMs = Math.ceil(limitMs / steps);
  let cancel: () => void;
  const wait = (remainingMs: number) => {
    cancel = clock.schedule(Math.min(stepMs, remainingMs), () => {
      if (remainingMs > stepMs) wait(remainingMs - stepMs);
      else run();
    });
  };
  wait(limitMs);
  return () => cancel();
}

/** A response in this process takes some turns of the event loop: its connection, request, handler and body. */
const steps = 20;
