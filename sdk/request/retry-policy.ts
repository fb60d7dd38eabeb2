// What to do after a failed attempt; pure. A query or an idempotent mutation is repeated after any transient failure,
// another mutation only when the failure proves that it was not applied: it was not sent, or the service rejected it.
// A 429 is waited for in the limiter, which does not count against `maxRetries`; without one it is a transient failure.

import type { Failure } from "../call/failure.ts";

export interface RetryState {
  /** The request had a permit of a rate limiter. */
  readonly hasLimiter: boolean;
  readonly idempotent: boolean;
  readonly retries: number;
  readonly maxRetries: number;
  readonly remainingMs: number;
}

export type RetryDecision =
  | { readonly type: "fail" }
  /** Decided where the tokens are. */
  | { readonly type: "fresh_token" }
  | { readonly type: "wait_for_rate_limit" }
  | { readonly type: "repeat"; readonly delayMs: number };

/** The longest `Retry-After` that a call waits for. After a longer one it fails at once and says when to try again. */
export const retryAfterMsMax = 60_000;

const backoffBaseMs = 200;
const backoffMsMax = 5_000;
const fail: RetryDecision = { type: "fail" };

export function decideRetry(failure: Failure, state: RetryState, random: () => number): RetryDecision {
  const { remedy, outcome, retryAfterMs = 0 } = failure;
  if (remedy === "wait_for_rate_limit" && state.hasLimiter) {
    return retryAfterMs > state.remainingMs ? fail : { type: "wait_for_rate_limit" };
  }
  const isTransient = remedy === "repeat" || remedy === "wait_for_rate_limit";
  if (!isTransient || state.retries >= state.maxRetries) return fail;
  if (!state.idempotent && outcome === "unknown") return fail;
  if (retryAfterMs > retryAfterMsMax) return fail;
  const delayMs = Math.max(backoffMs(state.retries, random), retryAfterMs);
  // Sleeping past the deadline would replace a clear failure with a vague one.
  return delayMs < state.remainingMs ? { type: "repeat", delayMs } : fail;
}

/** Jitter over the upper half, so that clients that failed together do not retry together. */
export function backoffMs(retries: number, random: () => number): number {
  const ceilingMs = Math.min(backoffMsMax, backoffBaseMs * 2 ** retries);
  return ceilingMs * (0.5 + 0.5 * random());
}
