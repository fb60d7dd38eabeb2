// A row whose handler ends the process is in the same claim as others, which have an attempt more with each crash although
// they did nothing wrong. Claimed together again, they would all be dead with it: test/system/receiver-kit/poison.test.ts
// shows it when the delay is 0. So the rows of one claim are due again one after the other, further apart with each attempt,
// until each has the time that its handler needs.

import type { InboxRetryDelays } from "./inbox.ts";

/** Of the keys that one claim recovers, those after this many are due together. */
export const recoveredPlaces = 16;

interface RecoveredRow {
  /** With the one that ended with the lease. */
  readonly attempts: number;
  /** Among the keys that one claim recovers. */
  readonly place: number;
  readonly retry: InboxRetryDelays;
}

/** When a row is due again after its lease has expired; 0: now, whatever the clock says. */
export function recoveredDueAtMs({ attempts, place, retry }: RecoveredRow, nowMs: number): number {
  const delayMs = Math.min(retry.delayMsMax, retry.firstDelayMs * 2 ** (attempts - 1));
  const afterMs = Math.floor((delayMs * Math.min(place, recoveredPlaces)) / recoveredPlaces);
  return afterMs === 0 ? 0 : nowMs + afterMs;
}
