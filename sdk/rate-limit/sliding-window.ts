/**
 * The slots of one allowance, as a log of the last window. A slot is taken when a request is permitted and free again
 * one window after the answer's headers came: the request reached the service before that instant at the latest, so
 * whatever the latency was, no span of one window holds more than `limit` arrivals. That is right for a sliding and
 * for a fixed window, and it needs no clock but the local monotonic one.
 *
 * Counting from the answer costs one round trip per window. Most of it is taken back: the next request needs its own
 * time to arrive, and the fastest round trip seen lately says how much at least. Three quarters of that are taken
 * off, so a path that suddenly halves its latency still does not overrun the limit. Only round trips of two different
 * windows are believed: those of a cold start are slow for reasons the next window does not have.
 */
export interface WindowOptions {
  readonly limit: number;
  readonly windowMs: number;
}

// Timers may fire a little early, clocks of two machines drift apart by a few ms in a minute.
const windowMarginMs = 25;
const roundTripPart = 0.75;
const lateWindows = 1.05;
const roundTripMemoryMs = 300_000;

interface UsedSlot {
  /** When its request had arrived at the latest. */
  readonly arrivedByMs: number;
  readonly isAnswered: boolean;
}

export class SlidingWindow {
  #limit: number;
  #windowMs: number;
  #underWay = 0;
  // Slots that are no longer under way, ascending by when they begin to cool.
  readonly #used: UsedSlot[] = [];
  // How many of them, from the front, are free again. They are kept a little for `countedLately`.
  #free = 0;
  #fastest = { currentMs: Number.POSITIVE_INFINITY, previousMs: Number.POSITIVE_INFINITY, sinceMs: 0 };
  #firstAnswerMs: number | undefined;
  #isTried = false;

  constructor(options: WindowOptions) {
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
  }

  configure(options: WindowOptions): void {
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
  }

  /** Requests that count at this moment: under way, or answered less than a window ago. */
  used(nowMs: number): number {
    this.#advance(nowMs);
    return this.#underWay + this.#used.length - this.#free;
  }

  /** Requests that the service may still count, although their slots have just become free. */
  countedLately(nowMs: number): number {
    this.#advance(nowMs);
    return this.#underWay + this.#used.length;
  }

  /** Takes a slot if one is free among the first `capacity`. */
  take(nowMs: number, capacity = this.#limit): boolean {
    if (this.used(nowMs) >= Math.min(capacity, this.#limit)) return false;
    this.#underWay += 1;
    return true;
  }

  /** Gives back a slot whose request did not count: it was not sent, or the service refused it. */
  giveBack(): void {
    this.#underWay -= 1;
  }

  /** The request was answered. Returns when its slot is free again, counted from `nowMs`. */
  answered(takenAtMs: number, answeredAtMs: number, nowMs: number): number {
    this.#learn(answeredAtMs - takenAtMs, nowMs);
    return this.#cool({ arrivedByMs: answeredAtMs, isAnswered: true }, nowMs);
  }

  /** No answer came: the request may have arrived at any time until now, so nothing is taken off. */
  unanswered(nowMs: number): number {
    return this.#cool({ arrivedByMs: nowMs, isAnswered: false }, nowMs);
  }

  /** Lower bound of the wait of whoever has `ahead` others before it. */
  waitMs(ahead: number, nowMs: number, capacity = this.#limit): number {
    const used = this.used(nowMs);
    const slots = Math.min(capacity, this.#limit);
    // Slots that must become free before this one's turn; each of them can be used once in a window.
    const place = used + ahead - slots;
    if (place < 0) return 0;
    const perWindow = Math.max(slots, used);
    const slot = this.#used[this.#free + (place % perWindow)];
    const restMs = (slot ? this.#coolsFromMs(slot) : nowMs) + this.#coolingMs() - nowMs;
    return this.#windowMs * Math.floor(place / perWindow) + Math.max(1, restMs);
  }

  isIdle(nowMs: number): boolean {
    return this.used(nowMs) === 0;
  }

  /** What is taken off: most of the fastest round trip of the last five to ten minutes. */
  #creditMs(): number {
    const fastestMs = Math.min(this.#fastest.currentMs, this.#fastest.previousMs);
    return this.#isTried && Number.isFinite(fastestMs) ? roundTripPart * fastestMs : 0;
  }

  /** What will be taken off for an unanswered request is added first, by the credit of today and not of back then. */
  #coolsFromMs({ arrivedByMs, isAnswered }: UsedSlot): number {
    return isAnswered ? arrivedByMs : arrivedByMs + this.#creditMs();
  }

  #coolingMs(): number {
    return this.#windowMs + windowMarginMs - this.#creditMs();
  }

  #learn(roundTripMs: number, nowMs: number): void {
    const creditMs = this.#creditMs();
    this.#firstAnswerMs ??= nowMs;
    this.#isTried ||= nowMs - this.#firstAnswerMs >= this.#windowMs;
    if (nowMs - this.#fastest.sinceMs > roundTripMemoryMs) {
      const previousMs = this.#fastest.currentMs;
      this.#fastest = { currentMs: Number.POSITIVE_INFINITY, previousMs, sinceMs: nowMs };
    }
    this.#fastest.currentMs = Math.min(this.#fastest.currentMs, roundTripMs);
    // Another credit moves the unanswered ones among the others.
    if (this.#creditMs() !== creditMs) this.#used.sort((a, b) => this.#coolsFromMs(a) - this.#coolsFromMs(b));
  }

  #cool(slot: UsedSlot, nowMs: number): number {
    this.#underWay -= 1;
    const fromMs = this.#coolsFromMs(slot);
    // Answers come nearly in order, so the place is at or near the end.
    const before = this.#used.findLastIndex((other) => this.#coolsFromMs(other) <= fromMs);
    this.#used.splice(before + 1, 0, slot);
    return Math.max(0, fromMs + this.#coolingMs() - nowMs);
  }

  #advance(nowMs: number): void {
    const isBefore = (index: number, limitMs: number) => {
      const slot = this.#used[index];
      return slot !== undefined && this.#coolsFromMs(slot) <= limitMs;
    };
    const coolSinceMs = nowMs - this.#coolingMs();
    while (isBefore(this.#free, coolSinceMs)) this.#free += 1;
    // A faster round trip was seen: less is taken off, also for slots that seemed free a moment ago.
    while (this.#free > 0 && !isBefore(this.#free - 1, coolSinceMs)) this.#free -= 1;
    const forgottenSinceMs = nowMs - this.#windowMs * lateWindows;
    let forgotten = 0;
    while (forgotten < this.#free && isBefore(forgotten, forgottenSinceMs)) forgotten += 1;
    this.#used.splice(0, forgotten);
    this.#free -= forgotten;
  }
}
