import type { WindowLimit } from "./sliding-window.ts";

// How much of the limit this process may use, and how evenly.
//
// While no request is rejected, this process is taken to be the key's only user: the whole limit, even at once. A 429
// proves that another client uses the key. Then all calls wait for the time that the service asks for, and continue
// evenly spaced at the rate that this process was seen to get. After each half window without a rejection half of the
// missing capacity is added. Because calls are spaced, trying more costs one or two rejections, and as many more as are in
// flight meanwhile. A service that counts fixed windows and another user of the key can cost a bunch of rejections in each
// window: the requests of this process are counted over the last window's length, which is not the service's window.

const capacityPartMin = 0.05;
const rejectionPauseMs = 1_000;
// The service rounds to whole seconds; returning at that very instant would be a race.
const returnMarginMs = 50;
const returnJitterMs = 200;
// A longer Retry-After blocks the key for this long; then one request finds out whether it still holds.
const pauseWindowsMax = 5;

export class AdaptivePacing {
  #limit: number;
  #windowMs: number;
  #capacity: number;
  #blockedUntilMs = Number.NEGATIVE_INFINITY;
  #lastPermitMs = Number.NEGATIVE_INFINITY;
  #growAtMs = Number.POSITIVE_INFINITY;
  #rejectionsInARow = 0;

  constructor({ limit, windowMs }: WindowLimit) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#capacity = limit;
  }

  configure({ limit, windowMs }: WindowLimit): void {
    const wasFull = this.#capacity >= this.#limit;
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#capacity = wasFull ? limit : Math.min(this.#capacity, limit);
  }

  /** Requests per window that this process may send at present. */
  capacity(nowMs: number): number {
    while (this.#capacity < this.#limit && nowMs >= this.#growAtMs) {
      const missing = this.#limit - this.#capacity;
      this.#capacity += Math.max(1, Math.ceil(missing / 2));
      this.#growAtMs += this.#windowMs / 2;
    }
    return this.#capacity;
  }

  /** Time until the pacing permits the next request. */
  waitMs(nowMs: number): number {
    const capacity = this.capacity(nowMs);
    const spacedAtMs = capacity < this.#limit ? this.#lastPermitMs + this.#windowMs / capacity : nowMs;
    return Math.max(0, this.#blockedUntilMs - nowMs, spacedAtMs - nowMs);
  }

  /** Whether the service has asked to wait longer. */
  isBlocked(nowMs: number): boolean {
    return nowMs < this.#blockedUntilMs;
  }

  permitted(nowMs: number): void {
    this.#lastPermitMs = nowMs;
  }

  succeeded(): void {
    this.#rejectionsInARow = 0;
  }

  /** The service rejected a request while `own` others of this process counted. Returns how long all calls wait. */
  rejected(nowMs: number, retryAfterMs: number | undefined, own: number, random: () => number): number {
    const floor = Math.max(1, Math.ceil(this.#limit * capacityPartMin));
    const kept = Math.max(floor, Math.min(this.#capacity, own));
    // Always below the limit: after a rejection calls are spaced for a while.
    this.#capacity = Math.max(1, Math.min(this.#limit - 1, kept));
    // The rejections of one burst arrive together and count as one.
    if (nowMs >= this.#blockedUntilMs) this.#rejectionsInARow += 1;
    const pauseMs = Math.max(retryAfterMs ?? 0, this.#ownPauseMs(retryAfterMs));
    const pauseMsMax = this.#windowMs * pauseWindowsMax;
    const untilMs = nowMs + Math.min(pauseMs, pauseMsMax) + returnMarginMs + returnJitterMs * random();
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
    this.#growAtMs = this.#blockedUntilMs + this.#windowMs / 2;
    // The first request may be sent as soon as the pause ends; the spacing begins with it.
    this.#lastPermitMs = Number.NEGATIVE_INFINITY;
    return this.#blockedUntilMs - nowMs;
  }

  // Without a usable Retry-After the pause doubles with each rejection in a row.
  #ownPauseMs(retryAfterMs: number | undefined): number {
    if (retryAfterMs !== undefined && retryAfterMs > 0) return 0;
    return Math.min(this.#windowMs, rejectionPauseMs * 2 ** Math.min(10, this.#rejectionsInARow - 1));
  }
}
