import type { WindowLimit } from "./sliding-window.ts";

// How much of the limit this process may use, and how fast. It cannot see what others of the key send: only a 429 says so.
//
//   starting ──as many accepted as the limit──► open ──429──► blocked ──Retry-After──► leaving ──a window──► open
//                                                                ▲                        │ 429
//                                                                └────────────────────────┴──► shared ──► open
//
// starting  Two requests may be in flight, then as many as were accepted: a key that others have used up costs two 429s, and
//           the whole limit of an unused one is in use after six round trips. This holds after each 429 too. However long
//           responses take, calls are sent as fast as the limit lasts.
// blocked   Nothing is sent for as long as the service asks.
// leaving   What the service had counted leaves its window between the end of `Retry-After` and one window after the 429:
//           calls are spread over that time, and not at all when it leaves at once.
// shared    A second 429 says that another client is still sending. The capacity is what this process got, at least half
//           of what it was, and calls are spaced by it. After each window without a 429 it doubles, to the limit.

const startingMin = 2;
const capacityPartMin = 0.05;
const rejectionPauseMs = 1_000;
// The service rounds to whole seconds; returning at that very instant would be a race.
const returnMarginMs = 50;
const returnJitterMs = 200;
// A longer Retry-After blocks the key for this long; then one request finds out whether it still holds.
const pauseWindowsMax = 5;

export class AdaptivePacing {
  readonly #limit: number;
  readonly #windowMs: number;
  #capacity = Number.POSITIVE_INFINITY;
  #spacingMs = 0;
  #growAtMs = Number.POSITIVE_INFINITY;
  #accepted: number;
  #blockedUntilMs = Number.NEGATIVE_INFINITY;
  #lastPermitMs = Number.NEGATIVE_INFINITY;
  #rejectionsInARow = 0;

  /** @param isShared a store counts the requests of the others, so nothing has to be found out at the start */
  constructor({ limit, windowMs }: WindowLimit, isShared: boolean) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#accepted = isShared ? limit : 0;
  }

  /** Requests per window that this process may send at present. */
  capacity(nowMs: number): number {
    while (nowMs >= this.#growAtMs) this.#grow();
    return Math.min(this.#capacity, this.#limit);
  }

  /** Time until the pacing permits the next request while others are in flight. */
  waitMs(nowMs: number, inFlight: number): number {
    this.capacity(nowMs);
    const holdMs = inFlight < this.#inFlightMax() ? 0 : this.#windowMs / this.#limit;
    const nextAtMs = this.#lastPermitMs + Math.max(this.#spacingMs, holdMs);
    return Math.max(0, this.blockedMs(nowMs), nextAtMs - nowMs);
  }

  /** How many requests may be sent at once when `waitMs` is 0. */
  atOnceMax(inFlight: number): number {
    return this.#spacingMs > 0 ? 1 : Math.max(1, this.#inFlightMax() - inFlight);
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
    if (this.#precedesBlock(startedAtMs)) return;
    this.#accepted += 1;
    this.#rejectionsInARow = 0;
  }

  /** The service rejected a request while `own` others of this process counted. Returns how long all calls wait. */
  rejected(
    startedAtMs: number,
    nowMs: number,
    retryAfterMs: number | undefined,
    own: number,
    random: () => number,
  ): number {
    // The rejections of one burst count as one.
    const isFirst = !this.#precedesBlock(startedAtMs);
    if (isFirst) this.#rejectionsInARow += 1;
    const pauseMs = Math.min(this.#pauseMs(retryAfterMs), this.#windowMs * pauseWindowsMax);
    const untilMs = nowMs + pauseMs + returnMarginMs + returnJitterMs * random();
    if (isFirst) this.#slowDown(nowMs, pauseMs, untilMs, own);
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
    return this.#blockedUntilMs - nowMs;
  }

  #inFlightMax(): number {
    if (this.#accepted >= this.#limit) return Number.POSITIVE_INFINITY;
    return Math.max(startingMin, this.#accepted);
  }

  #precedesBlock(startedAtMs: number): boolean {
    return startedAtMs < this.#blockedUntilMs;
  }

  #slowDown(nowMs: number, pauseMs: number, untilMs: number, own: number): void {
    const capacity = this.capacity(nowMs);
    const isOpen = this.#growAtMs === Number.POSITIVE_INFINITY;
    this.#accepted = 0;
    if (isOpen) {
      this.#capacity = this.#limit;
      this.#spacingMs = (1.1 * Math.max(0, this.#windowMs - pauseMs)) / this.#limit;
      this.#growAtMs = nowMs + this.#windowMs;
      return;
    }
    const kept = Math.max(own, capacity / 2, this.#limit * capacityPartMin);
    this.#space(Math.min(this.#limit, Math.ceil(kept)), untilMs + this.#windowMs);
  }

  #grow(): void {
    if (this.#capacity < this.#limit) {
      this.#space(Math.min(this.#limit, 2 * this.#capacity), this.#growAtMs + this.#windowMs);
      return;
    }
    this.#capacity = Number.POSITIVE_INFINITY;
    this.#spacingMs = 0;
    this.#growAtMs = Number.POSITIVE_INFINITY;
  }

  #space(capacity: number, growAtMs: number): void {
    this.#capacity = capacity;
    this.#spacingMs = this.#windowMs / capacity;
    this.#growAtMs = growAtMs;
  }

  // Without a usable Retry-After the pause doubles with each rejection in a row.
  #pauseMs(retryAfterMs = 0): number {
    if (retryAfterMs > 0) return retryAfterMs;
    return Math.min(this.#windowMs, rejectionPauseMs * 2 ** Math.min(10, this.#rejectionsInARow - 1));
  }
}
