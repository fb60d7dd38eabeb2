import type { Failure } from "../call/failure.ts";
import type { Clock } from "../clock.ts";
import type { AcquiredSlot, RateLimitStore, ReleasedSlot } from "./rate-limit-store.ts";

/**
 * The part of an allowance that lies in a store. Slots are fetched for all waiting calls at once and given back in
 * batches, so a busy process asks the store a few times a second and not twice a call. A slot that turns out not to
 * be wanted goes straight back.
 */
export interface RemoteSlot {
  release(freeInMs: number): void;
}

export interface SharedSlotsOptions {
  readonly store: RateLimitStore;
  readonly key: string;
  readonly limit: number;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** The store failed; the calls that wait for it cannot go on. */
  readonly onFailure: (failure: Failure) => void;
  readonly redactCause: (error: unknown) => unknown;
}

const releaseDelayMs = 20;
const askAgainMsMin = 20;

export class SharedSlots {
  readonly #options: SharedSlotsOptions;
  #slots: AcquiredSlot[] = [];
  #releases: (ReleasedSlot & { readonly atMs: number })[] = [];
  #wanted = 0;
  #asking = false;
  #pending = new Set<Promise<void>>();
  #changed = () => {};
  #cancelAsk: (() => void) | undefined;
  #cancelFlush: (() => void) | undefined;

  constructor(options: SharedSlotsOptions) {
    this.#options = options;
  }

  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  take(): RemoteSlot | undefined {
    const slot = this.#slots.shift();
    if (!slot) return undefined;
    return { release: (freeInMs) => this.#release(slot, freeInMs) };
  }

  /** Says how many calls could go now if there were slots. */
  want(count: number): void {
    this.#wanted = count;
    for (const slot of this.#slots.splice(count)) this.#release(slot, 0);
    if (count > this.#slots.length) this.#ask();
    if (count === 0) this.#stopAsking();
  }

  block(durationMs: number): void {
    this.#track(this.#options.store.block(this.#options.key, durationMs));
  }

  /** Resolves when everything given back has reached the store. */
  async flush(): Promise<void> {
    this.#stopAsking();
    this.#flush();
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #ask(): void {
    if (this.#asking || this.#cancelAsk) return;
    this.#asking = true;
    this.#track(this.#acquire());
  }

  async #acquire(): Promise<void> {
    const { store, key, limit, leaseMs, clock } = this.#options;
    try {
      const count = this.#wanted - this.#slots.length;
      const { slots, retryInMs } = await store.acquire({ key, limit, count, leaseMs });
      this.#slots.push(...slots);
      this.#asking = false;
      if (slots.length < count) {
        this.#cancelAsk = clock.schedule(Math.max(askAgainMsMin, retryInMs), () => {
          this.#cancelAsk = undefined;
          this.#changed();
        });
      }
      this.#changed();
    } catch (error) {
      this.#asking = false;
      this.#options.onFailure(storeFailed(this.#options.redactCause(error)));
    }
  }

  #stopAsking(): void {
    this.#cancelAsk?.();
    this.#cancelAsk = undefined;
  }

  #release(slot: AcquiredSlot, freeInMs: number): void {
    this.#releases.push({ ...slot, freeInMs, atMs: this.#options.clock.monotonic() });
    this.#cancelFlush ??= this.#options.clock.schedule(releaseDelayMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const nowMs = this.#options.clock.monotonic();
    const batch = this.#releases.splice(0).map(({ slot, fence, freeInMs, atMs }) => {
      return { slot, fence, freeInMs: Math.max(0, freeInMs - (nowMs - atMs)) };
    });
    if (batch.length > 0) this.#track(this.#options.store.release(this.#options.key, batch));
  }

  // A release that fails is no call's failure: the lease frees the slot, later.
  #track(work: Promise<void>): void {
    const settled: Promise<void> = work.then(
      () => void this.#pending.delete(settled),
      () => void this.#pending.delete(settled),
    );
    this.#pending.add(settled);
  }
}

function storeFailed(cause: unknown): Failure {
  return {
    code: "RATE_LIMIT_STORE_FAILED",
    message: "the rate limit store failed",
    outcome: "not_sent",
    remedy: "repeat",
    cause,
  };
}
