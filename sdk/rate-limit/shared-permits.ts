import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { CallScope } from "../call/call-scope.ts";

// The permits of one key from a store that several processes share. They are acquired for all waiting calls at once, so a
// busy process asks the store a few times a second and not once per call. A permit that no call needs any more when it
// arrives is not kept: used later it would be outside the span that the store counts it for.

/** Shares one rate limit between processes: it counts the permits that it has granted in the last window. */
export interface RateLimitStore {
  /** Grants up to `count` permits of a key at once, so that no span of `windowMs` has more than `limit` of them. */
  acquire(request: AcquirePermitsRequest): Promise<AcquirePermitsResult>;
  /** Grants no process a permit of the key for `durationMs`, because the service rejected a request. */
  block(key: string, durationMs: number): Promise<void>;
}

export interface AcquirePermitsRequest {
  /** A hash, never the API key itself. */
  readonly key: string;
  /** Permits of the key per window. */
  readonly limit: number;
  /** 1 or more. */
  readonly count: number;
  /** How long a permit counts. A little longer than the window of the service: requests are on their way for a while. */
  readonly windowMs: number;
}

export interface AcquirePermitsResult {
  /** How many were granted, 0 to `count`. */
  readonly granted: number;
  /** When to try again, if fewer than `count` were granted. */
  readonly retryInMs: number;
}

/** The rate limit of all processes. */
export interface SharedSettings {
  readonly store: RateLimitStore;
  /** A hash. */
  readonly key: string;
}

export interface SharedPermitsOptions extends SharedSettings {
  readonly limit: number;
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
  #cancelRetry: (() => void) | undefined;

  constructor(options: SharedPermitsOptions) {
    this.#options = options;
  }

  /** Takes a permit, if there is one. */
  take(): boolean {
    if (this.#granted === 0) return false;
    this.#granted -= 1;
    return true;
  }

  /** Sets how many calls could be sent now if there were permits. */
  request(count: number): void {
    if (this.#isAsking) return;
    if (count > 0) {
      if (!this.#cancelRetry) void this.#acquire(count);
      return;
    }
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
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

  async #acquire(count: number): Promise<void> {
    const { store, key, limit, windowMs, clock, onChange, onFailure } = this.#options;
    const scope = new CallScope(clock, { limitMs: storeTimeoutMs });
    this.#isAsking = true;
    let retryMs = 0;
    try {
      // It may throw, or return no promise.
      const acquire = async () => store.acquire({ key, limit, count, windowMs });
      const result = await scope.race(acquire());
      // A store of the caller may return anything.
      const granted = Number(result?.granted ?? Number.NaN);
      if (!(granted >= 0)) {
        const got = describeValue(result?.granted);
        throw new Error(`expected acquire() to return how many were granted, got granted: ${got}`);
      }
      retryMs = Number(result.retryInMs) || 0;
      this.#granted = Math.min(count, Math.floor(granted));
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
      this.#cancelRetry = clock.schedule(delayMs, () => {
        this.#cancelRetry = undefined;
        onChange();
      });
    }
    onChange();
    this.#granted = 0;
  }
}
