/**
 * How fast an allowance may be used. Alone on the key there is nothing to decide: the whole limit, at once if wanted.
 * A 429 proves that somebody else uses the key too. Then everybody here waits once, for the time the service says,
 * and goes on evenly spaced with the part of the limit that this process was seen to get; half of what is missing is
 * tried again every half window without a refusal. Evenly spaced, an attempt at more costs one or two refusals, and
 * never a burst of them.
 */
export interface PaceOptions {
  readonly limit: number;
  readonly windowMs: number;
}

const capacityPartMin = 0.05;
const refusalPauseMs = 1_000;
// The service rounds to whole seconds; coming back at the very instant would be a race.
const returnMarginMs = 50;
const returnJitterMs = 200;
const pauseMsMax = 3_600_000;

export class AdaptivePacing {
  #limit: number;
  #windowMs: number;
  #capacity: number;
  #blockedUntilMs = Number.NEGATIVE_INFINITY;
  #lastGrantMs = Number.NEGATIVE_INFINITY;
  #growAtMs = Number.POSITIVE_INFINITY;
  #refusals = 0;

  constructor(options: PaceOptions) {
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
    this.#capacity = options.limit;
  }

  configure(options: PaceOptions): void {
    const wasFull = this.#capacity >= this.#limit;
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
    this.#capacity = wasFull ? options.limit : Math.min(this.#capacity, options.limit);
  }

  capacity(nowMs: number): number {
    while (this.#capacity < this.#limit && nowMs >= this.#growAtMs) {
      const missing = this.#limit - this.#capacity;
      this.#capacity += Math.max(1, Math.ceil(missing / 2));
      this.#growAtMs += this.#windowMs / 2;
    }
    return this.#capacity;
  }

  /** When the next request may go, as far as the pace is concerned. */
  waitMs(nowMs: number): number {
    const capacity = this.capacity(nowMs);
    const spacedAtMs = capacity < this.#limit ? this.#lastGrantMs + this.#windowMs / capacity : nowMs;
    return Math.max(0, this.#blockedUntilMs - nowMs, spacedAtMs - nowMs);
  }

  granted(nowMs: number): void {
    this.#lastGrantMs = nowMs;
  }

  succeeded(): void {
    this.#refusals = 0;
  }

  /**
   * The service refused a request while `own` others of this process counted. Returns how long everybody waits.
   */
  refused(nowMs: number, retryAfterMs: number | undefined, own: number, random: () => number): number {
    const floor = Math.max(1, Math.ceil(this.#limit * capacityPartMin));
    const kept = Math.max(floor, Math.min(this.#capacity, own));
    // Below the limit in any case: after a refusal everybody goes on evenly spaced for a while.
    this.#capacity = Math.max(1, Math.min(this.#limit - 1, kept));
    // The refusals of one burst come together and count as one.
    if (nowMs >= this.#blockedUntilMs) this.#refusals += 1;
    const pauseMs = Math.max(retryAfterMs ?? 0, this.#ownPauseMs(retryAfterMs));
    const untilMs = nowMs + Math.min(pauseMs, pauseMsMax) + returnMarginMs + returnJitterMs * random();
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
    this.#growAtMs = this.#blockedUntilMs + this.#windowMs / 2;
    // The first one after the pause goes at its end; the spacing begins with it.
    this.#lastGrantMs = Number.NEGATIVE_INFINITY;
    return this.#blockedUntilMs - nowMs;
  }

  // Without a usable Retry-After the pause doubles with each refusal in a row.
  #ownPauseMs(retryAfterMs: number | undefined): number {
    if (retryAfterMs !== undefined && retryAfterMs > 0) return 0;
    return Math.min(this.#windowMs, refusalPauseMs * 2 ** Math.min(10, this.#refusals - 1));
  }
}
