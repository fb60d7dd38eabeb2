// How rows end on SQLite, in one synchronous step inside a transaction: of the writer, or of a handler.

import type { InboxLease } from "../inbox.ts";
import { isSuperseded, type RowEnd, type RowEndResult } from "../row-end.ts";
import { toNumber } from "../sql/inbox-row.ts";
import type { SqliteConnection } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";

/** Ends a claimed row and advances the head of its key; `undefined` when it was not held or had ended before. */
export function endRow(connection: SqliteConnection, end: RowEnd, nowMs: number): RowEndResult | undefined {
  return endApplied(connection, end, nowMs) ?? endInSteps(connection, end, nowMs);
}

/** The most frequent end, in two statements: of an event that was applied at its first attempt. */
function endApplied(connection: SqliteConnection, end: RowEnd, nowMs: number): RowEndResult | undefined {
  const { claim, advance, outcome } = end;
  if (outcome !== "done" || advance === null || claim.attempts > 1) return undefined;
  const { keyId, worker, generation } = claim.lease;
  const { position, status, allowSame } = advance;
  const place = [keyId, claim.position ?? "", claim.seq] as const;
  const fence = [worker, generation, position, allowSame ? 1 : 0] as const;
  if (connection.changePrepared(sql.dequeueApplied, [...place, ...fence]) === 0) return undefined;
  if (!end.frees) {
    connection.changePrepared(sql.advanceHeld, [keyId, position, status, nowMs, claim.seq]);
    return { result: "done", hasMore: false };
  }
  const key = connection.firstPrepared(sql.advanceFreed, [keyId, position, status, nowMs]);
  return { result: "done", hasMore: Number(key?.["waiting"]) > 0 };
}

function endInSteps(connection: SqliteConnection, end: RowEnd, nowMs: number): RowEndResult | undefined {
  const { claim, advance } = end;
  const lease = readLease(connection, claim.lease);
  if (!lease) return undefined;
  const result = end.outcome === "done" && isSuperseded(end, lease.head) ? "stale" : end.outcome;
  const isEnded = result === "done" || result === "stale" || result === "dead";
  const place = [claim.lease.keyId, claim.position ?? "", claim.seq] as const;
  if (isEnded) {
    const row = connection.firstPrepared(sql.dequeueRow, place);
    if (!row) return undefined;
    if (result !== "done" || claim.attempts > 1) {
      const outcome = result === "done" ? null : result;
      const lastError = end.error ?? (row["last_error"] as string | null);
      connection.firstPrepared(sql.recordEnd, [claim.seq, outcome, claim.attempts, lastError]);
    }
  }
  const retryAt = nowMs + end.delayMs;
  if (result === "retry") {
    const retried = [...place, retryAt, claim.attempts, end.error, nowMs];
    if (connection.changePrepared(sql.retryRow, retried) === 0) return undefined;
  }
  if (result === "release" && !connection.firstPrepared(sql.findRow, place)) return undefined;
  const advances = result === "done" && advance !== null;
  if (advances) {
    connection.changePrepared(sql.advanceKey, [claim.lease.keyId, advance.position, advance.status, nowMs]);
  }
  const waiting = lease.waiting - (isEnded ? 1 : 0);
  const change = [claim.lease.keyId, isEnded ? 1 : 0] as const;
  if (!end.frees) connection.changePrepared(sql.countEnded, [...change, claim.seq]);
  else if (waiting === 0 && lease.head === null && !advances) {
    // A key that has neither a head nor a row has nothing to remember.
    connection.changePrepared(sql.deleteKey, [claim.lease.keyId]);
  } else {
    const wakeAt = waiting === 0 ? null : waiting === 1 && result === "retry" ? retryAt : nowMs;
    connection.changePrepared(sql.freeKey, [...change, wakeAt]);
  }
  return { result, hasMore: end.frees && waiting > 0 };
}

export interface HeldLease {
  readonly head: string | null;
  readonly waiting: number;
}

/** `undefined` when the lease was lost. */
export function readLease(
  connection: SqliteConnection,
  { keyId, worker, generation }: InboxLease,
): HeldLease | undefined {
  const row = connection.firstPrepared(sql.readLease, [keyId, worker, generation]);
  return row && { head: row["head"] as string | null, waiting: toNumber(row["waiting"]) ?? 0 };
}
