/**
 * Where several processes keep one allowance. The store hands out slots: a slot that was taken is free again one
 * window after the answer to its request came back, so that no span of one window ever holds more than `limit`
 * requests, however long each of them was under way.
 */
export interface RateLimitStore {
  /**
   * Takes up to `count` of the free slots of an allowance, for at most `leaseMs`.
   *
   * `key` is a hash and never the API key itself. A holder that dies keeps its slots until the lease ends.
   */
  acquire(request: AcquireSlotsRequest): Promise<AcquireSlotsResult>;
  /** Says when slots are free again, counted from now; 0 for a slot that was not used. */
  release(key: string, slots: readonly ReleasedSlot[]): Promise<void>;
  /** Keeps every holder from acquiring for `durationMs`, because the service refused a request. */
  block(key: string, durationMs: number): Promise<void>;
}

export interface AcquireSlotsRequest {
  readonly key: string;
  readonly limit: number;
  readonly count: number;
  readonly leaseMs: number;
}

export interface AcquireSlotsResult {
  readonly slots: readonly AcquiredSlot[];
  /** When to ask again, if fewer slots than wanted were free. */
  readonly retryInMs: number;
}

/** `fence` tells this holder from a later one of the same slot. */
export interface AcquiredSlot {
  readonly slot: number;
  readonly fence: string;
}

export interface ReleasedSlot extends AcquiredSlot {
  readonly freeInMs: number;
}
