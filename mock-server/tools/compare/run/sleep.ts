import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { VirtualClock } from "@workspace-tasks/mock-server";

/** Resolves after this time, or when the signal is aborted. A virtual clock is advanced. */
export function sleep(clock: Clock | VirtualClock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return Promise.resolve();
  if ("advance" in clock) return clock.advance(Math.ceil(ms)).then(() => undefined);
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.schedule(ms, finish);
    signal.addEventListener("abort", finish);
  });
}
