// The requests of one key that count against its limit now. A request occupies a slot from its permit until one window
// after its response headers arrived: it reached the service before they left, so no span of one window holds more than
// `limit` arrivals, whatever the latency is and whether the service counts sliding or fixed windows. A request that was
// given up may still be on its way: it counts as if it arrives `onTheWayMs` after its start.

export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

// Timers may fire a little early, and two machines' clocks drift apart by a few ms per minute.
const windowMarginMs = 25;
const onTheWayMs = 5_000;

export class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  #inFlight = 0;
  /** By when settled requests had arrived, ascending. Those before `#first` do not count any more. */
  #arrivedByMs: number[] = [];
  #first = 0;

  constructor({ limit, windowMs }: WindowLimit) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that count now: in flight, or responded to less than a window ago. */
  used(nowMs: number): number {
    const sinceMs = nowMs - this.#windowMs - windowMarginMs;
    while ((this.#arrivedByMs[this.#first] ?? nowMs) <= sinceMs) this.#first += 1;
    if (2 * this.#first > this.#arrivedByMs.length) {
      this.#arrivedByMs = this.#arrivedByMs.slice(this.#first);
      this.#first = 0;
    }
    return this.#inFlight + this.#arrivedByMs.length - this.#first;
  }

  /** A request got its permit. */
  start(): void {
    this.#inFlight += 1;
  }

  /** A request did not count: it was not sent, or the service rejected it. */
  release(): void {
    this.#inFlight -= 1;
  }

  /** A response arrived. */
  responded(respondedAtMs: number): void {
    this.#inFlight -= 1;
    // Responses arrive nearly in order, so the place is at or near the end.
    const before = this.#arrivedByMs.findLastIndex((atMs) => atMs <= respondedAtMs);
    this.#arrivedByMs.splice(before + 1, 0, respondedAtMs);
    this.#first = Math.min(this.#first, before + 1);
  }

  /** No response arrived. */
  noResponse(startedAtMs: number, nowMs: number): void {
    this.responded(Math.max(nowMs, startedAtMs + onTheWayMs));
  }

  /** The least time that a call waits with `ahead` calls queued before it. */
  waitMs(ahead: number, nowMs: number): number {
    const used = this.used(nowMs);
    // Slots that must become free first; each of them can be used once per window.
    const needed = used + ahead - this.#limit;
    if (needed < 0) return 0;
    const perWindow = Math.max(this.#limit, used);
    const arrivedByMs = this.#arrivedByMs[this.#first + (needed % perWindow)] ?? nowMs;
    // One in flight may be responded to now, before a slot whose request arrives later.
    const earliestMs = this.#inFlight > 0 ? Math.min(arrivedByMs, nowMs) : arrivedByMs;
    const remainingMs = earliestMs + this.#windowMs + windowMarginMs - nowMs;
    return this.#windowMs * Math.floor(needed / perWindow) + Math.max(1, remainingMs);
  }
}
