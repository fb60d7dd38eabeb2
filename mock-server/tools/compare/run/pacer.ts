import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Settings } from "@workspace-tasks/mock-server";

type RateLimit = Pick<Settings["rateLimit"], "requests" | "windowMs">;

/** A third of the limit: other users of the key need the rest. */
export const shareOf = ({ requests, windowMs }: RateLimit): RateLimit => ({
  requests: Math.max(1, Math.floor(requests / 3)),
  windowMs,
});

/** Keeps a run inside its own share of the rate limit of the key, so that other users of the key keep theirs. */
export interface Pacer {
  /** Milliseconds until the next request may be sent. */
  waitMs(): number;
  /** Counts a request. */
  count(): void;
  /** No request until then. */
  pause(ms: number): void;
  /** Milliseconds until the end of a pause, however many requests were sent. */
  pausedMs(): number;
}

export function createPacer(clock: Clock, { requests, windowMs }: RateLimit): Pacer {
  const sentAtMs: number[] = [];
  let pausedUntilMs = 0;

  const pausedMs = () => Math.max(0, pausedUntilMs - clock.monotonic());

  return {
    pause(ms) {
      pausedUntilMs = Math.max(pausedUntilMs, clock.monotonic() + ms);
    },
    pausedMs,
    waitMs() {
      const nowMs = clock.monotonic();
      while (sentAtMs[0] !== undefined && sentAtMs[0] <= nowMs - windowMs) sentAtMs.shift();
      const oldest = sentAtMs.length < requests ? undefined : sentAtMs[0];
      const inWindow = oldest === undefined ? 0 : oldest + windowMs - nowMs + 1;
      return Math.max(inWindow, pausedMs());
    },
    count() {
      sentAtMs.push(clock.monotonic());
    },
  };
}
