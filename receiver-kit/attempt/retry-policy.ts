import type { Random } from "@workspace-tasks/kernel/random.ts";
import type { ReceiverSettings } from "../receiver-options.ts";

/**
 * The delay after a failed attempt, counted from 1, `delayMsMax` at most; ±20 % jitter, so that failed events do not retry
 * in lockstep.
 */
export function retryDelayMs(
  { firstDelayMs, delayMsMax }: ReceiverSettings["retry"],
  attempt: number,
  random: Random,
): number {
  const delayMs = Math.min(delayMsMax / 1.2, firstDelayMs * 2 ** (attempt - 1));
  return Math.round(delayMs * (0.8 + 0.4 * random()));
}
