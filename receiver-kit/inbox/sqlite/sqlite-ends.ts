// How rows end on SQLite, in one synchronous step inside a transaction: of the writer, or of a handler.

import type { InboxLease } from "../inbox.ts";
import { isSuperseded, type RowEnd, type RowEndResult } from "../row-end.ts";
import type { SqliteConnection } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";

/** Ends a claimed row and advances the head of its key; `undefined` when it was not held or had ended before. */
export function endRow(connection: SqliteConnection, end: RowEnd, nowMs: number): RowEndResult | undefined {
  const result = isApplied(connection, end) ? "done" : endQueuedRow(connection, end, nowMs);
  return result && { result, hasMore: updateKey(connection, end, result, nowMs) };
}

const placeOf = ({ claim }: RowEnd) => [claim.lease.keyId, claim.position ?? "", claim.seq] as const;

/** The most frequent end, in one statement: of an event that was applied at its first attempt. */
function isApplied(connection: SqliteConnection, end: RowEnd): boolean {
  const { claim, advance, outcome } = end;
  if (outcome !== "done" || advance === null || claim.attempts > 1) return false;
  const fence = [claim.lease.worker, claim.lease.generation, advance.position, advance.allowSame ? 1 : 0];
  return connection.changePrepared(sql.dequeueApplied, [...placeOf(end), ...fence]) > 0;
}

function endQueuedRow(
  connection: SqliteConnection,
  end: RowEnd,
  nowMs: number,
): RowEndResult["result"] | undefined {
  const { claim, delayMs, error } = end;
  const lease = readLease(connection, claim.lease);
  if (!lease) return undefined;
  const result = end.outcome === "done" && isSuperseded(end, lease["head"]) ? "stale" : end.outcome;
  const place = placeOf(end);
  if (result === "release") return connection.firstPrepared(sql.findRow, place) && result;
  if (result === "retry") {
    const retried = [...place, nowMs + delayMs, claim.attempts, error];
    return connection.changePrepared(sql.retryRow, retried) > 0 ? result : undefined;
  }
  const row = connection.firstPrepared(sql.dequeueRow, place);
  if (row && (result !== "done" || claim.attempts > 1)) {
    const outcome = result === "done" ? null : result;
    const lastError = error ?? (row["last_error"] as string | null);
    connection.firstPrepared(sql.recordEnd, [claim.seq, outcome, claim.attempts, lastError]);
  }
  return row && result;
}

/** Returns whether rows of the key can be claimed now. */
function updateKey(
  connection: SqliteConnection,
  { claim, advance, frees, delayMs }: RowEnd,
  result: RowEndResult["result"],
  nowMs: number,
): boolean {
  const { keyId } = claim.lease;
  const ended = result === "retry" || result === "release" ? 0 : 1;
  const head = result === "done" ? advance : null;
  if (frees && head === null && connection.changePrepared(sql.deleteEmptyKey, [keyId, ended]) > 0)
    return false;
  const change = [keyId, head?.position ?? null, head?.status ?? null, nowMs, ended];
  if (!frees) {
    connection.changePrepared(sql.updateHeld, [...change, claim.seq]);
    return false;
  }
  const dueAtMs = result === "retry" ? nowMs + delayMs : nowMs;
  return Number(connection.firstPrepared(sql.freeKey, [...change, dueAtMs])?.["waiting"]) > 0;
}

/** `undefined` when the lease was lost. */
export function readLease(connection: SqliteConnection, { keyId, worker, generation }: InboxLease) {
  return connection.firstPrepared(sql.readLease, [keyId, worker, generation]);
}
