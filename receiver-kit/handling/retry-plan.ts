import type { Random } from "../random.ts";

export type RetryPlan = {
  /** Wait after the first failed attempt; doubles with each further one. Default 1,000. */
  readonly firstDelayMs: number;
  /** Longest wait. Default 3,600,000. */
  readonly delayMsMax: number;
  /** Attempts after which an event is dead. Default 15, which spread over about three hours. */
  readonly attemptsMax: number;
};

export const defaultRetryPlan: RetryPlan = { firstDelayMs: 1_000, delayMsMax: 3_600_000, attemptsMax: 15 };

/** The wait after the given failed attempt, counted from 1; a fifth either way by chance, so that failures do not march in step. */
export function retryDelayMs(plan: RetryPlan, attempt: number, random: Random): number {
  const planned = Math.min(plan.delayMsMax, plan.firstDelayMs * 2 ** (attempt - 1));
  return Math.round(planned * (0.8 + 0.4 * random()));
}

/** Thrown by a handler to say that trying again cannot help: the event is dead at once, until somebody replays it. */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
  readonly code = "NON_RETRYABLE";
}

/** A handler took longer than `handlerTimeoutMs`; the attempt counts as failed. */
export class HandlerTimeoutError extends Error {
  override readonly name = "HandlerTimeoutError";
  readonly code = "HANDLER_TIMEOUT";

  constructor(timeoutMs: number) {
    super(`the handlers of this event took longer than ${timeoutMs} ms`);
  }
}
