// The requests of one key that count against its limit now.
//
// A request occupies a slot from its permit until one window after its response headers arrived. It reached the service
// before the headers left, so whatever the latency was, no span of one window holds more than `limit` arrivals. This
// holds for services that count sliding or fixed windows, and needs no clock but the local monotonic one.
//
// Counting from the response costs one round trip per window. Most of it is credited back: the next request needs its
// own time to arrive, and the fastest recent round trip bounds that time from below. Three quarters of it are
// credited, so that a path whose latency suddenly halves still does not exceed the limit. Only round trips of two
// different windows count: those of a cold start are slow for reasons that the next window does not have.
//
// A slot that another process may use next gets no credit: that process may have a faster path.
//
// A request that is aborted may be on its way still. Its slot counts as if it arrived after the slowest recent round trip,
// at least 1 s and at most 5 s after its start.

export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

// Timers may fire a little early, and two machines' clocks drift apart by a few ms per minute.
const windowMarginMs = 25;
const creditedPart = 0.75;
const recentWindows = 1.05;
const roundTripMemoryMs = 300_000;
const onTheWayMs = { min: 1_000, max: 5_000 };

interface RoundTrips {
  readonly fastestMs: number;
  readonly slowestMs: number;
}

const noRoundTrips: RoundTrips = { fastestMs: Number.POSITIVE_INFINITY, slowestMs: 0 };

interface Slot {
  /** When its response arrived, or its request was given up. */
  readonly endedAtMs: number;
  /** Of a request without a response, which may be on its way still. */
  readonly startedAtMs?: number;
}

export class SlidingWindow {
  #limit: number;
  #windowMs: number;
  #inFlight = 0;
  // Slots of settled requests, ascending by the start of their cooldown.
  readonly #settled: Slot[] = [];
  // How many of them, from the front, have finished their cooldown. They are kept a little longer for `recentCount`.
  #free = 0;
  // Of the last five to ten minutes.
  #roundTrips = { current: noRoundTrips, previous: noRoundTrips, sinceMs: 0 };
  #firstResponseMs: number | undefined;
  #hasTwoWindows = false;

  constructor({ limit, windowMs }: WindowLimit) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  configure({ limit, windowMs }: WindowLimit): void {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Requests that count now: in flight, or responded to less than a window ago. */
  used(nowMs: number): number {
    this.#advance(nowMs);
    return this.#inFlight + this.#settled.length - this.#free;
  }

  /** Requests that the service may still count, including those whose slot has just become free. */
  recentCount(nowMs: number): number {
    this.#advance(nowMs);
    return this.#inFlight + this.#settled.length;
  }

  /** A request got its permit. */
  start(): void {
    this.#inFlight += 1;
  }

  /** A request did not count: it was not sent, or the service rejected it. */
  release(): void {
    this.#inFlight -= 1;
  }

  /** A response arrived. Returns the time until another process may use the slot, counted from `nowMs`. */
  responded(startedAtMs: number, respondedAtMs: number, nowMs: number): number {
    this.#learn(respondedAtMs - startedAtMs, nowMs);
    return this.#coolDown({ endedAtMs: respondedAtMs }, nowMs);
  }

  /** No response arrived. The request may arrive as late as the slowest one, so it gets no credit. Returns as `responded`. */
  noResponse(startedAtMs: number, nowMs: number): number {
    return this.#coolDown({ startedAtMs, endedAtMs: nowMs }, nowMs);
  }

  /** Minimum wait of a call with `ahead` calls queued before it. */
  waitMs(ahead: number, nowMs: number, capacity = this.#limit): number {
    const used = this.used(nowMs);
    const slots = Math.min(capacity, this.#limit);
    // Slots that must become free first; each of them can be used once per window.
    const needed = used + ahead - slots;
    if (needed < 0) return 0;
    const perWindow = Math.max(slots, used);
    const slot = this.#settled[this.#free + (needed % perWindow)];
    const startMs = slot ? this.#cooldownStartMs(slot) : nowMs;
    // One in flight may be responded to now, before a slot whose request arrives later.
    const earliestMs = this.#inFlight > 0 ? Math.min(startMs, nowMs) : startMs;
    const remainingMs = earliestMs + this.#cooldownMs() - nowMs;
    return this.#windowMs * Math.floor(needed / perWindow) + Math.max(1, remainingMs);
  }

  isIdle(nowMs: number): boolean {
    return this.used(nowMs) === 0;
  }

  /** Most of the fastest round trip. */
  #creditMs(): number {
    const { current, previous } = this.#roundTrips;
    const fastestMs = Math.min(current.fastestMs, previous.fastestMs);
    return this.#hasTwoWindows && Number.isFinite(fastestMs) ? creditedPart * fastestMs : 0;
  }

  /** How long a request without a response may be on its way. */
  #onTheWayMs(): number {
    const { current, previous } = this.#roundTrips;
    const slowestMs = Math.max(current.slowestMs, previous.slowestMs);
    return Math.min(onTheWayMs.max, Math.max(onTheWayMs.min, slowestMs));
  }

  #arrivedByMs({ startedAtMs, endedAtMs }: Slot): number {
    return startedAtMs === undefined ? endedAtMs : Math.max(endedAtMs, startedAtMs + this.#onTheWayMs());
  }

  // The cooldown is shorter by the credit, which a request without a response must not get: it is added here, at its
  // current value.
  #cooldownStartMs(slot: Slot): number {
    return slot.startedAtMs === undefined ? slot.endedAtMs : this.#arrivedByMs(slot) + this.#creditMs();
  }

  #cooldownMs(): number {
    return this.#windowMs + windowMarginMs - this.#creditMs();
  }

  #learn(roundTripMs: number, nowMs: number): void {
    const creditMs = this.#creditMs();
    const wayMs = this.#onTheWayMs();
    this.#firstResponseMs ??= nowMs;
    this.#hasTwoWindows ||= nowMs - this.#firstResponseMs >= this.#windowMs;
    if (nowMs - this.#roundTrips.sinceMs > roundTripMemoryMs) {
      this.#roundTrips = { current: noRoundTrips, previous: this.#roundTrips.current, sinceMs: nowMs };
    }
    const { fastestMs, slowestMs } = this.#roundTrips.current;
    this.#roundTrips.current = {
      fastestMs: Math.min(fastestMs, roundTripMs),
      slowestMs: Math.max(slowestMs, roundTripMs),
    };
    // Either changes the order between slots with and without a response.
    if (this.#creditMs() !== creditMs || this.#onTheWayMs() !== wayMs) {
      this.#settled.sort((a, b) => this.#cooldownStartMs(a) - this.#cooldownStartMs(b));
    }
  }

  #coolDown(slot: Slot, nowMs: number): number {
    this.#inFlight -= 1;
    const startMs = this.#cooldownStartMs(slot);
    // Responses arrive nearly in order, so the slot belongs at or near the end.
    const before = this.#settled.findLastIndex((other) => this.#cooldownStartMs(other) <= startMs);
    this.#settled.splice(before + 1, 0, slot);
    return Math.max(0, this.#arrivedByMs(slot) + this.#windowMs + windowMarginMs - nowMs);
  }

  #advance(nowMs: number): void {
    const startedBefore = (index: number, limitMs: number) => {
      const slot = this.#settled[index];
      return slot !== undefined && this.#cooldownStartMs(slot) <= limitMs;
    };
    const freeSinceMs = nowMs - this.#cooldownMs();
    while (startedBefore(this.#free, freeSinceMs)) this.#free += 1;
    // After a faster round trip the credit is smaller, also for slots that seemed free a moment ago.
    while (this.#free > 0 && !startedBefore(this.#free - 1, freeSinceMs)) this.#free -= 1;
    const recentSinceMs = nowMs - this.#windowMs * recentWindows;
    let past = 0;
    while (past < this.#free && startedBefore(past, recentSinceMs)) past += 1;
    this.#settled.splice(0, past);
    this.#free -= past;
  }
}
