import type { Clock } from "../../../sdk/kernel/clock.ts";
import type { Settings } from "../../settings/settings.ts";

type RateLimit = Pick<Settings["rateLimit"], "requests" | "windowMs">;

/** A third of the limit: other users of the key need the rest. */
export const shareOf = ({ requests, windowMs }: RateLimit): RateLimit => ({
  requests: Math.max(1, Math.floor(requests / 3)),
  windowMs,
});

/** Below this number of requests left for all users of the key, a run waits for the next window. */
const reserveMax = 20;
const reserveShare = 0.2;

/** Keeps a run inside its own share of the rate limit of the key, so that other users of the key keep theirs. */
export interface Pacer {
  /** Milliseconds until the next request may be sent. */
  waitMs(): number;
  /** Counts a request. */
  count(): void;
  /** Reads what a response says about the rate limit. */
  observe(headers: Headers): void;
  /** No request until then. */
  pause(ms: number): void;
  /** Milliseconds until the end of a pause, however many requests were sent. */
  pausedMs(): number;
}

export function createPacer(clock: Clock, { requests, windowMs }: RateLimit): Pacer {
  const sentAtMs: number[] = [];
  let pausedUntilMs = 0;

  const pause = (ms: number) => {
    pausedUntilMs = Math.max(pausedUntilMs, clock.monotonic() + ms);
  };

  const pausedMs = () => Math.max(0, pausedUntilMs - clock.monotonic());

  return {
    pause,
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
    observe(headers) {
      const [remaining, limit, resetSeconds] = ["remaining", "limit", "reset"].map((name) =>
        numberOf(headers, name),
      );
      const reserve = Math.min(reserveMax, (limit ?? Number.POSITIVE_INFINITY) * reserveShare);
      if (remaining == null || remaining > reserve) return;
      // Some services give a time instead of a number of seconds; a whole window is then enough.
      pause(resetSeconds != null && resetSeconds <= 3_600 ? resetSeconds * 1_000 : windowMs);
    },
  };
}

/** Of `RateLimit-Remaining`, `X-RateLimit-Remaining`, or one `RateLimit: limit=…, remaining=…, reset=…`. */
function numberOf(headers: Headers, name: string): number | null {
  const [, inOne] = new RegExp(`\\b${name}=(\\d{1,12})\\b`).exec(headers.get("ratelimit") ?? "") ?? [];
  const text = headers.get(`ratelimit-${name}`) ?? headers.get(`x-ratelimit-${name}`) ?? inOne ?? "";
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}
