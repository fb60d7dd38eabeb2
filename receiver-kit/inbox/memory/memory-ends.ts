// How claimed rows end in memory. The rules are those of the SQL inboxes.

import type { InboxClaim } from "../inbox.ts";
import { isSuperseded, type RowEnd, type RowEndResult } from "../row-end.ts";
import { keyOf, type MemoryKey, type MemoryKeys } from "./memory-keys.ts";
import type { MemoryRow, MemoryRows } from "./memory-rows.ts";

interface Held {
  readonly key: MemoryKey;
  readonly row: MemoryRow;
}

/** `undefined` when the lease was lost, or when the row had ended before. */
export function findHeld(keys: MemoryKeys, rows: MemoryRows, claim: InboxClaim): Held | undefined {
  const key = keys.leased(claim.lease);
  const row = rows.get(claim);
  // A row that was replayed may have another key now.
  return key && row?.state === "running" && keyOf(row) === key.name ? { key, row } : undefined;
}

/** Ends a claimed row and advances the head of its key. */
export function endRow(keys: MemoryKeys, { key, row }: Held, end: RowEnd, nowMs: number): RowEndResult {
  const { claim, advance, error, delayMs } = end;
  const isStale = end.outcome === "done" && isSuperseded(end, key.head?.position);
  const result = isStale ? "stale" : end.outcome;
  if (result === "done" && advance) {
    const { position, status } = advance;
    const workspaceId = claim.workspaceId ?? key.head?.workspaceId ?? null;
    key.head = { position, status, workspaceId, movedAtMs: nowMs };
  }
  row.lastError = error ?? row.lastError;
  if (result !== "release") row.attempts = claim.attempts;
  if (result === "retry" || result === "release") {
    row.state = "pending";
    if (result === "retry") row.dueAtMs = nowMs + delayMs;
  } else {
    row.state = result;
    row.dueAtMs = 0;
    keys.removeRow(key, row);
    key.suspects = Math.max(0, key.suspects - 1);
  }
  key.claimed = key.claimed.filter((other) => other !== row);
  if (key.claimed.length > 0) return { result, hasMore: false };
  const waiting = key.waiting.length;
  keys.release(key, waiting === 1 && result === "retry" ? row.dueAtMs : nowMs);
  return { result, hasMore: waiting > 0 };
}
