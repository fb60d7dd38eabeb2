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
  /** Permits of the key per window. Lower for background calls, which leave some to the others. */
  readonly limit: number;
  /** 1 or more. */
  readonly count: number;
  /** How long a permit counts. A little longer than the window of the service: requests are on their way for a while. */
  readonly windowMs: number;
}

export interface AcquirePermitsResult {
  /** From 0 to `count`. */
  readonly granted: number;
  /** When to try again, if fewer than `count` were granted. */
  readonly retryInMs: number;
}
