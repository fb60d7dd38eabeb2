import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { CallScope } from "../call/call-scope.ts";
import type { RateLimitStore } from "./rate-limit-store.ts";

// The permits of one key from a store that several processes share. They are acquired for all waiting calls at once, so a
// busy process asks the store a few times a second and not once per call. A permit that no call needs any more when it
// arrives is not kept: used later it would be outside the span that the store counts it for.

/** The rate limit of all processes. */
export interface SharedSettings {
  readonly store: RateLimitStore;
  /** A hash. */
  readonly key: string;
}

export interface SharedPermitsOptions extends SharedSettings {
  /** How long the store counts a permit. */
  readonly windowMs: number;
  readonly clock: Clock;
  /** Permits have arrived, or it is time to ask again. */
  onChange(): void;
  /** The store failed, so the calls that wait for it fail too. */
  onFailure(error: unknown): void;
}

const storeTimeoutMs = 5_000;
const retryMsMin = 20;

export class SharedPermits {
  readonly #options: SharedPermitsOptions;
  #granted = 0;
  #isAsking = false;
  #retry: { readonly limit: number; cancel(): void } | undefined;

  constructor(options: SharedPermitsOptions) {
    this.#options = options;
  }

  /** Takes a permit, if there is one. */
  take(): boolean {
    if (this.#granted === 0) return false;
    this.#granted -= 1;
    return true;
  }

  /** Sets how many calls could be sent now if there were permits, and the limit that applies to them. */
  request(count: number, limit: number): void {
    if (this.#isAsking) return;
    // With a higher limit there may be permits already.
    if (this.#retry && (count === 0 || limit > this.#retry.limit)) this.#cancelRetry();
    if (count > 0 && !this.#retry) void this.#acquire(count, limit);
  }

  /** Tells the other processes to wait, too. */
  async block(durationMs: number): Promise<void> {
    const { store, key } = this.#options;
    try {
      await store.block(key, durationMs);
    } catch {
      // They will be rejected themselves.
    }
  }

  #cancelRetry(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  async #acquire(count: number, limit: number): Promise<void> {
    const { store, key, windowMs, clock, onChange, onFailure } = this.#options;
    const scope = new CallScope(clock, { limitMs: storeTimeoutMs });
    this.#isAsking = true;
    let retryMs = 0;
    try {
      // It may throw, or return no promise.
      const acquire = async () => store.acquire({ key, limit, count, windowMs });
      const result = await scope.race(acquire());
      // A store of the caller may return anything.
      retryMs = Number(result?.retryInMs) || 0;
      this.#granted = Math.min(count, Math.max(0, Math.floor(Number(result?.granted)) || 0));
    } catch (error) {
      this.#isAsking = false;
      onFailure(scope.failure ? new Error(`the store did not respond within ${storeTimeoutMs} ms`) : error);
      return;
    } finally {
      scope.dispose();
    }
    this.#isAsking = false;
    if (this.#granted < count) {
      const delayMs = Math.min(windowMs, Math.max(retryMsMin, retryMs));
      const cancel = clock.schedule(delayMs, () => {
        this.#retry = undefined;
        onChange();
      });
      this.#retry = { limit, cancel };
    }
    onChange();
    this.#granted = 0;
  }
}
