import { type Failure, failure } from "../call/failure.ts";

// With what a call fails that gets no permit.

export function queueFull(maxQueued: number, waitMs: number): Failure {
  const message = `expected at most ${maxQueued} calls of this client to wait for the rate limit`;
  return failure("RATE_LIMIT_QUEUE_FULL", message, { retryAfterMs: Math.ceil(waitMs) });
}

/** @param rejections how often the service has rejected the call */
export function waitExceeded(rejections: number, waitMs: number): Failure {
  const retryAfterMs = Math.ceil(waitMs);
  if (rejections === 0) {
    const message = "the rate limit is used up for longer than deadlineMs lets the call wait";
    return failure("RATE_LIMIT_WAIT_EXCEEDED", message, { retryAfterMs });
  }
  const message = `the service rejected the request ${rejections} times and the call cannot wait longer`;
  return failure("RATE_LIMITED", message, { outcome: "rejected", retryAfterMs });
}

/** @param cause redacted */
export function storeFailed(cause: unknown): Failure {
  return failure("RATE_LIMIT_STORE_FAILED", "the rate limit store failed", { remedy: "repeat", cause });
}
