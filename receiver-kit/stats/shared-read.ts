import type { Clock } from "@workspace-tasks/kernel/clock.ts";

/** How many times as long as it took a read is kept. */
const keptTimes = 20;

/**
 * A read that callers share, however many they are and however often they ask: they get the result of the one in progress, or of
 * the last one, which is kept for 20 times as long as it took. A failed one is not kept.
 */
export function sharedRead<Value>(
  read: () => Promise<Value>,
  clock: Pick<Clock, "monotonic">,
): () => Promise<Value> {
  let shared: Promise<Value> | undefined;
  let untilMs = Number.POSITIVE_INFINITY;
  return () => {
    if (shared && clock.monotonic() < untilMs) return shared;
    const startedMs = clock.monotonic();
    untilMs = Number.POSITIVE_INFINITY;
    const reading = read();
    shared = reading;
    reading.then(
      () => {
        untilMs = clock.monotonic() + keptTimes * (clock.monotonic() - startedMs);
      },
      () => {
        shared = undefined;
      },
    );
    return reading;
  };
}
