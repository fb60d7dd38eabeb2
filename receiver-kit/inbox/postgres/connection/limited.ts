import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";

export interface Limit {
  readonly limitMs: number;
  readonly clock: Clock;
}

/** Rejects with the error of `onLimit` when `work` takes longer than the limit. */
export function limited<Result>(
  work: Promise<Result>,
  { limitMs, clock }: Limit,
  onLimit: () => Error,
): Promise<Result> {
  const schedule: Clock["schedule"] = (delayMs, run) => {
    let isCancelled = false;
    // The response may already be in the socket, when it was this process that was busy.
    const cancel = clock.schedule(delayMs, () => setImmediate(() => isCancelled || run()));
    return () => {
      isCancelled = true;
      cancel();
    };
  };
  return withTimeout(work, limitMs, { schedule }, onLimit);
}
