import type { Random } from "@workspace-tasks/kernel/random.ts";
import type { WindowLimit } from "./sliding-window.ts";

// How fast requests follow each other. A process does not see what others send with the key: only a 429 says so.
//
// At first two requests may be in flight, then as many as were accepted, until that was the whole limit: a key that others
// have used up costs two 429s, and the limit of an unused one is in use after six round trips. However long responses
// take, one more request is sent each time that the limit permits one.
//
// After a 429 nothing is sent for as long as the service asks, and the start begins again. What the service had counted
// leaves its window between then and one window after the 429, so requests are spread over that time.

const startingMin = 2;
const rejectionPauseMs = 1_000;
// The service rounds to whole seconds; returning at that very instant would be a race.
const returnMarginMs = 50;
const returnJitterMs = 200;
// A longer Retry-After blocks the key for this long; then one request finds out whether it still holds.
const pauseWindowsMax = 5;
// Requests are spread a little wider than what was counted leaves.
const spread = 1.1;

export class SlowStart {
  readonly #limit: number;
  readonly #windowMs: number;
  #accepted: number;
  #lastPermitMs = Number.NEGATIVE_INFINITY;
  #blockedUntilMs = Number.NEGATIVE_INFINITY;
  #spacingMs = 0;
  #spacedUntilMs = Number.NEGATIVE_INFINITY;
  #rejectionsInARow = 0;

  /** @param isShared a store counts the requests of the others, so nothing has to be found out at the start */
  constructor({ limit, windowMs }: WindowLimit, isShared: boolean) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#accepted = isShared ? limit : 0;
  }

  /** The time until the next request may be sent while others are in flight. */
  waitMs(nowMs: number, inFlight: number): number {
    const spacingMs = nowMs < this.#spacedUntilMs ? this.#spacingMs : 0;
    const holdMs = inFlight < this.#inFlightMax() ? 0 : this.#windowMs / this.#limit;
    const nextAtMs = this.#lastPermitMs + Math.max(spacingMs, holdMs);
    return Math.max(0, this.blockedMs(nowMs), nextAtMs - nowMs);
  }

  /** How many requests may be sent at once when `waitMs` is 0. */
  atOnceMax(nowMs: number, inFlight: number): number {
    return nowMs < this.#spacedUntilMs ? 1 : Math.max(1, this.#inFlightMax() - inFlight);
  }

  /** How long the service has asked to wait. */
  blockedMs(nowMs: number): number {
    return Math.max(0, this.#blockedUntilMs - nowMs);
  }

  permitted(nowMs: number): void {
    this.#lastPermitMs = nowMs;
  }

  /** The service did not reject a request. */
  accepted(startedAtMs: number): void {
    if (startedAtMs < this.#blockedUntilMs) return;
    this.#accepted += 1;
    this.#rejectionsInARow = 0;
  }

  /** The service rejected a request. Returns how long all calls wait. */
  rejected(startedAtMs: number, nowMs: number, retryAfterMs: number | undefined, random: Random): number {
    // The rejections of one burst count as one.
    const isFirst = startedAtMs >= this.#blockedUntilMs;
    if (isFirst) this.#rejectionsInARow += 1;
    const pauseMs = Math.min(this.#pauseMs(retryAfterMs), this.#windowMs * pauseWindowsMax);
    if (isFirst) {
      this.#accepted = 0;
      this.#spacingMs = (spread * Math.max(0, this.#windowMs - pauseMs)) / this.#limit;
      this.#spacedUntilMs = nowMs + this.#windowMs;
    }
    const untilMs = nowMs + pauseMs + returnMarginMs + returnJitterMs * random();
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
    return this.#blockedUntilMs - nowMs;
  }

  #inFlightMax(): number {
    if (this.#accepted >= this.#limit) return Number.POSITIVE_INFINITY;
    return Math.max(startingMin, this.#accepted);
  }

  // Where there is no usable Retry-After, the pause doubles with each rejection in a row.
  #pauseMs(retryAfterMs = 0): number {
    if (retryAfterMs > 0) return retryAfterMs;
    return Math.min(this.#windowMs, rejectionPauseMs * 2 ** Math.min(10, this.#rejectionsInARow - 1));
  }
}
