// What to do after a failed attempt; pure. A query or an idempotent mutation is repeated after any transient failure,
// another mutation only when the failure proves that it was not applied: it was not sent, or the service rejected it.
// A 429 is waited for in the limiter, which does not count against `maxRetries`; without one it is a transient failure.

import type { Failure, Remedy } from "../call/failure.ts";

export interface RetryState {
  /** The request had a permit of a rate limiter. */
  readonly hasLimiter: boolean;
  readonly idempotent: boolean;
  readonly retries: number;
  readonly maxRetries: number;
  readonly remainingMs: number;
}

/** How a call continues after a failed attempt. */
export interface Retry {
  readonly reason: Exclude<Remedy, "none">;
  readonly delayMs: number;
}

/** The longest `Retry-After` that a call waits for. After a longer one it fails at once and says when to try again. */
export const retryAfterMsMax = 60_000;

const backoffBaseMs = 200;
const backoffMsMax = 5_000;

/** Undefined when the failure is that of the call. A fresh token is decided on where the tokens are. */
export function decideRetry(failure: Failure, state: RetryState, random: () => number): Retry | undefined {
  const { remedy, outcome, retryAfterMs = 0 } = failure;
  if (remedy === "wait_for_rate_limit" && state.hasLimiter) {
    return retryAfterMs > state.remainingMs ? undefined : { reason: remedy, delayMs: 0 };
  }
  const isTransient = remedy === "repeat" || remedy === "wait_for_rate_limit";
  if (!isTransient || state.retries >= state.maxRetries) return undefined;
  if (!state.idempotent && outcome === "unknown") return undefined;
  if (retryAfterMs > retryAfterMsMax) return undefined;
  const delayMs = Math.max(backoffMs(state.retries, random), retryAfterMs);
  // Sleeping past the deadline would replace a clear failure with a vague one.
  return delayMs < state.remainingMs ? { reason: "repeat", delayMs } : undefined;
}

/** Jitter over the upper half, so that clients that failed together do not retry together. */
export function backoffMs(retries: number, random: () => number): number {
  const ceilingMs = Math.min(backoffMsMax, backoffBaseMs * 2 ** retries);
  return ceilingMs * (0.5 + 0.5 * random());
}
