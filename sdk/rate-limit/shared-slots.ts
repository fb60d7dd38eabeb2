import { type Failure, failure } from "../call/failure.ts";
import { withTimeout } from "../call/with-timeout.ts";
import type { Clock } from "../clock.ts";
import type { AcquiredSlot, RateLimitStore, ReleasedSlot } from "./rate-limit-store.ts";

// The slots of a rate limit that several processes share through a store. Slots are acquired for all waiting calls at
// once and released in batches, so a busy process queries the store a few times a second and not twice per call. A slot
// that no call needs any more is released at once. A store that does not return within 5 s has failed; slots that it
// hands out later are released.

export interface SharedSlot {
  release(freeInMs: number): void;
}

export interface SharedSlotsOptions {
  readonly store: RateLimitStore;
  readonly key: string;
  readonly limit: number;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly redactCause: (error: unknown) => unknown;
}

export interface SharedSlotsListener {
  onChange(): void;
  /** The store failed, so the calls that wait for its slots fail too. */
  onFailure(failure: Failure): void;
}

const storeTimeoutMs = 5_000;
const releaseDelayMs = 20;
const acquireDelayMsMin = 20;

export class SharedSlots {
  readonly #options: SharedSlotsOptions;
  #limit: number;
  #leaseMs: number;
  readonly #pending = new Set<Promise<void>>();
  #listener: SharedSlotsListener | undefined;
  #slots: AcquiredSlot[] = [];
  #releases: (ReleasedSlot & { readonly atMs: number })[] = [];
  #requested = 0;
  #acquiring = false;
  #cancelAcquire: (() => void) | undefined;
  #cancelFlush: (() => void) | undefined;

  constructor(options: SharedSlotsOptions) {
    this.#options = options;
    this.#limit = options.limit;
    this.#leaseMs = options.leaseMs;
  }

  configure(limit: number, leaseMs: number): void {
    this.#limit = limit;
    this.#leaseMs = leaseMs;
  }

  connect(listener: SharedSlotsListener): void {
    this.#listener = listener;
  }

  take(): SharedSlot | undefined {
    const slot = this.#slots.shift();
    return slot && { release: (freeInMs) => this.#release(slot, freeInMs) };
  }

  /** Sets how many calls could be sent now if there were slots. */
  request(count: number): void {
    this.#requested = count;
    for (const slot of this.#slots.splice(count)) this.#release(slot, 0);
    if (count === 0) this.#stopAcquiring();
    else if (count > this.#slots.length && !this.#acquiring && !this.#cancelAcquire) {
      this.#acquiring = true;
      this.#track(this.#acquire());
    }
  }

  block(durationMs: number): void {
    const { store, key } = this.#options;
    this.#track(this.#limited(() => store.block(key, durationMs)));
  }

  /** Resolves when every released slot has reached the store, or the store has failed. */
  async flush(): Promise<void> {
    this.#stopAcquiring();
    this.#flush();
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #acquire(): Promise<void> {
    const { store, key, clock, redactCause } = this.#options;
    const limit = this.#limit;
    const leaseMs = this.#leaseMs;
    try {
      const count = this.#requested - this.#slots.length;
      const acquire = () => store.acquire({ key, limit, count, leaseMs });
      const { slots, retryInMs } = await this.#limited(acquire, (late) => {
        for (const slot of late.slots) this.#release(slot, 0);
      });
      this.#slots.push(...slots);
      this.#acquiring = false;
      if (slots.length < count) {
        // A store of the caller may return any number. Slots are free again at the end of their lease at the latest.
        const delayMs = Math.min(leaseMs, Math.max(acquireDelayMsMin, Number(retryInMs) || 0));
        this.#cancelAcquire = clock.schedule(delayMs, () => {
          this.#cancelAcquire = undefined;
          this.#listener?.onChange();
        });
      }
      this.#listener?.onChange();
    } catch (error) {
      this.#acquiring = false;
      const details = { remedy: "repeat", cause: redactCause(error) } as const;
      this.#listener?.onFailure(failure("RATE_LIMIT_STORE_FAILED", "the rate limit store failed", details));
    }
  }

  #stopAcquiring(): void {
    this.#cancelAcquire?.();
    this.#cancelAcquire = undefined;
  }

  #release(slot: AcquiredSlot, freeInMs: number): void {
    this.#releases.push({ ...slot, freeInMs, atMs: this.#options.clock.monotonic() });
    this.#cancelFlush ??= this.#options.clock.schedule(releaseDelayMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const { store, key, clock } = this.#options;
    const nowMs = clock.monotonic();
    const batch = this.#releases.splice(0).map(({ slot, fence, freeInMs, atMs }) => {
      return { slot, fence, freeInMs: Math.max(0, freeInMs - (nowMs - atMs)) };
    });
    if (batch.length > 0) this.#track(this.#limited(() => store.release(key, batch)));
  }

  #limited<Value>(call: () => Promise<Value>, onLate?: (value: Value) => void): Promise<Value> {
    const createError = () => new Error(`the store did not return within ${storeTimeoutMs} ms`);
    const { clock } = this.#options;
    return withTimeout(call, { timeoutMs: storeTimeoutMs, clock, createError, onLate });
  }

  // A release that fails concerns no call: the slot becomes free at the end of its lease.
  #track(work: Promise<void>): void {
    const settled: Promise<void> = work.then(
      () => void this.#pending.delete(settled),
      () => void this.#pending.delete(settled),
    );
    this.#pending.add(settled);
  }
}
