import type { Random } from "../random.ts";

export type RetryPolicy = {
  /** Wait after the first failed attempt; doubles with each further one. Default 1,000. */
  readonly firstDelayMs: number;
  /** Longest wait. Default 3,600,000. */
  readonly delayMsMax: number;
  /** Attempts after which an event is dead. Default 15, which spread over about three hours. */
  readonly attemptsMax: number;
};

export const defaultRetryPolicy: RetryPolicy = {
  firstDelayMs: 1_000,
  delayMsMax: 3_600_000,
  attemptsMax: 15,
};

/** The wait after the given failed attempt, counted from 1; a fifth either way by chance, so that failures do not march in step. */
export function retryDelayMs(plan: RetryPolicy, attempt: number, random: Random): number {
  const planned = Math.min(plan.delayMsMax, plan.firstDelayMs * 2 ** (attempt - 1));
  return Math.round(planned * (0.8 + 0.4 * random()));
}
