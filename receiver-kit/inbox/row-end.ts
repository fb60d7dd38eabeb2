// How a claimed row ends, as the inboxes write it; of one whose lease ended, when it is due again.

import type * as inbox from "./inbox.ts";

export interface RowEnd {
  readonly claim: inbox.InboxClaim;
  readonly outcome: "done" | "stale" | "dead" | "retry" | "release";
  readonly delayMs: number;
  readonly error: string | null;
  readonly advance: inbox.InboxHeadAdvance | null;
}

/** What became of it: as requested or `stale`; `undefined` when the lease was lost. */
export interface RowEndResult {
  readonly result: RowEnd["outcome"];
  /** Rows of the key can be claimed now. */
  readonly hasMore: boolean;
}

export function settledEnd(claim: inbox.InboxClaim, { state, advance }: inbox.InboxSettlement): RowEnd {
  return { claim, outcome: state, delayMs: 0, error: null, advance };
}

export function failedEnd(claim: inbox.InboxClaim, failure: inbox.FailedAttempt): RowEnd {
  const isCounted = failure.kind !== "retry" || failure.counts;
  return {
    claim: isCounted ? claim : { ...claim, attempts: claim.attempts - 1 },
    outcome: failure.kind,
    delayMs: failure.kind === "retry" ? Math.round(failure.delayMs) : 0,
    error: failure.kind === "release" ? null : failure.error,
    advance: null,
  };
}

export function settleOutcome(end: RowEnd, ended: RowEndResult | undefined): inbox.InboxSettleOutcome {
  if (ended === undefined) return "lost";
  return ended.result === end.outcome ? "settled" : "settled-stale";
}

/** Something newer was applied; or the same, unless an operator replayed it. */
export function isSuperseded({ advance }: Pick<inbox.InboxSettlement, "advance">, head: unknown): boolean {
  if (!advance || typeof head !== "string") return false;
  return advance.position < head || (advance.position === head && !advance.allowSame);
}

/** How many of the keys that one claim recovers are due one after the other; the rest is due together. */
export const recoveredPlaces = 16;

interface RecoveredRow {
  /** With the one that ended with the lease. */
  readonly attempts: number;
  /** Among the keys that one claim recovers. */
  readonly place: number;
  readonly retry: inbox.InboxRetryDelays;
}

// A row whose handler ends the process is in the same claim as others, which have an attempt more with each crash although
// they did nothing wrong. Claimed together again, they would all be dead with it: test/system/receiver-kit/poison.test.ts
// shows it when the delay is 0. So the rows of one claim are due again one after the other, further apart with each attempt,
// until each has the time that its handler needs.
/** When a row is due again after its lease has expired; 0: now, whatever the clock says. */
export function recoveredDueAtMs({ attempts, place, retry }: RecoveredRow, nowMs: number): number {
  const delayMs = Math.min(retry.delayMsMax, retry.firstDelayMs * 2 ** (attempts - 1));
  const afterMs = Math.floor((delayMs * Math.min(place, recoveredPlaces)) / recoveredPlaces);
  return afterMs === 0 ? 0 : nowMs + afterMs;
}
