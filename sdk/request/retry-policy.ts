// What to do after a failed attempt; pure. A query or an idempotent mutation is repeated after any transient failure,
// another mutation only when the failure proves that it was not applied: it was not sent, or the service rejected it.
// Waiting for the rate limit does not count against `maxRetries`.

import type { Failure } from "../call/failure.ts";

export interface RetryState {
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

export function decideRetry(failure: Failure, state: RetryState, random: () => number): RetryDecision {
  if (failure.remedy === "wait_for_rate_limit") return { type: "wait_for_rate_limit" };
  if (failure.remedy !== "repeat" || state.retries >= state.maxRetries) return { type: "fail" };
  if (!state.idempotent && failure.outcome === "unknown") return { type: "fail" };
  const { retryAfterMs = 0 } = failure;
  if (retryAfterMs > retryAfterMsMax) return { type: "fail" };
  const delayMs = Math.max(backoffMs(state.retries, random), retryAfterMs);
  // Sleeping past the deadline would replace a clear failure with a vague one.
  return delayMs < state.remainingMs ? { type: "repeat", delayMs } : { type: "fail" };
}

/** Jitter over the upper half, so that clients that failed together do not retry together. */
export function backoffMs(retries: number, random: () => number): number {
  const ceilingMs = Math.min(backoffMsMax, backoffBaseMs * 2 ** retries);
  return ceilingMs * (0.5 + 0.5 * random());
}
