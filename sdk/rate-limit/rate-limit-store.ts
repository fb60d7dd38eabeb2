/**
 * Shares one rate limit between processes. The store hands out slots: an acquired slot is free again one window after
 * the response to its request, so that no span of one window ever holds more than `limit` requests, however long
 * each of them took.
 */
export interface RateLimitStore {
  /**
   * Acquires up to `count` free slots of a key, for at most `leaseMs`.
   *
   * `key` is a hash, never the API key itself. A process that dies keeps its slots until their lease ends.
   */
  acquire(request: AcquireSlotsRequest): Promise<AcquireSlotsResult>;
  /** Sets when slots are free again, counted from now; 0 for a slot that was not used. */
  release(key: string, slots: readonly ReleasedSlot[]): Promise<void>;
  /** Lets no process acquire slots for `durationMs`, because the service rejected a request. */
  block(key: string, durationMs: number): Promise<void>;
}

export interface AcquireSlotsRequest {
  readonly key: string;
  /** How many slots of the key may be in use with these. Lower for background calls, which leave slots to the others. */
  readonly limit: number;
  readonly count: number;
  readonly leaseMs: number;
}

export interface AcquireSlotsResult {
  readonly slots: readonly AcquiredSlot[];
  /** When to try again, if fewer than `count` slots were free. */
  readonly retryInMs: number;
}

export interface AcquiredSlot {
  readonly slot: number;
  /** Differs each time the slot is acquired, so that a process whose lease ended cannot release it. */
  readonly fence: string;
}

export interface ReleasedSlot extends AcquiredSlot {
  readonly freeInMs: number;
}
