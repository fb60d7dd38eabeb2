// Both databases name their columns alike, so their rows are read in one place.

import type { EventColumns } from "../event/event-columns.ts";
import {
  type Channel,
  type Claim,
  type FailedAttempt,
  type InboxStats,
  type Marks,
  type RowDetails,
  type RowReference,
  type RowState,
  type RowSummary,
  rowStates,
  type StoredRow,
  type WaitingSource,
} from "./inbox.ts";
import type { HeadSummary, OrderHead, ReconcileCandidate } from "./order-head.ts";

export type SqlRow = Readonly<Record<string, unknown>>;

/** Columns of a summary; `body_bytes` is null when there is no body. */
export const summaryColumns =
  "seq, source, webhook_id, channel, state, event, order_key, position, status, workspace, signed_at, " +
  "received_at, due_at, attempts, replays, last_error, secret_index, traceparent, body_bytes";

export function toClaim(row: SqlRow): Claim {
  return {
    ...toStoredRow(row),
    body: toBytes(row["body"]) ?? new Uint8Array(),
    worker: String(row["worker"]),
    generation: Number(row["generation"]),
    head: toText(row["head"]),
  };
}

export function toSummary(row: SqlRow): RowSummary {
  return {
    ...toStoredRow(row),
    state: row["state"] as RowState,
    dueAtMs: Number(row["due_at"]),
    lastError: toText(row["last_error"]),
    bodyBytes: toNumber(row["body_bytes"]),
  };
}

export function toDetails(row: SqlRow): RowDetails {
  return { ...toSummary(row), body: toBytes(row["body"]) };
}

export function toReference(row: SqlRow): RowReference {
  return { source: String(row["source"]), id: String(row["webhook_id"]) };
}

export function toHead(row: SqlRow | undefined): OrderHead | undefined {
  return (
    row && {
      position: String(row["position"]),
      status: toText(row["status"]),
      unchangedMs: Number(row["unchanged"]),
    }
  );
}

export function toHeadSummary(row: SqlRow): HeadSummary {
  return {
    source: String(row["source"]),
    key: String(row["order_key"]),
    position: String(row["position"]),
    status: toText(row["status"]),
    workspaceId: toText(row["workspace"]),
    movedAtMs: Number(row["moved_at"]),
  };
}

/** A key may be found for several reasons; the first counts. */
export function toCandidates(rows: readonly SqlRow[]): readonly ReconcileCandidate[] {
  const found = new Map<string, ReconcileCandidate>();
  for (const row of rows) {
    const key = String(row["order_key"]);
    const reason = row["reason"] as ReconcileCandidate["reason"];
    if (!found.has(key)) found.set(key, { key, reason, workspaceId: toText(row["workspace"]) });
  }
  return [...found.values()];
}

/** From rows of `name` and `value`; one without a name where there are no marks. */
export function toMarks(rows: readonly SqlRow[]): Marks {
  const named = rows.filter((row) => row["name"] !== null);
  return Object.fromEntries(named.map((row) => [String(row["name"]), String(row["value"])]));
}

export function toWaiting(row: SqlRow): WaitingSource {
  return { source: String(row["source"]), dueInMs: Number(row["due_in"]) };
}

export function emptyStates(): Record<RowState, number> {
  return Object.fromEntries(rowStates.map((state) => [state, 0])) as Record<RowState, number>;
}

/** From rows of `state`, `count` and, on the pending one, `oldest`, and how far the `newest` row is `ahead`, in milliseconds. */
export function toStats(counts: readonly SqlRow[], newest: SqlRow | undefined): InboxStats {
  const rows = emptyStates();
  let oldestPendingMs: number | null = null;
  for (const { state, count, oldest } of counts) {
    rows[state as RowState] = Number(count);
    const pendingMs = state === "pending" ? toNumber(oldest) : null;
    // Below 0 for rows stored before the clock was set back.
    if (pendingMs !== null) oldestPendingMs = Math.max(0, pendingMs);
  }
  return { rows, oldestPendingMs, storedAheadMs: Math.max(0, Number(newest?.["ahead"] ?? 0)) };
}

/** What a failed attempt writes to its row. */
export function failedColumns(failure: FailedAttempt) {
  return {
    state: failure.kind === "dead" ? "dead" : "pending",
    delayMs: failure.kind === "retry" ? Math.round(failure.delayMs) : 0,
    error: failure.kind === "release" ? null : failure.error,
    /** Attempts that do not count. */
    uncounted: failure.kind === "release" ? 1 : 0,
  };
}

function toStoredRow(row: SqlRow): StoredRow {
  return {
    ...toReference(row),
    ...toEventColumns(row),
    seq: Number(row["seq"]),
    channel: row["channel"] as Channel,
    timestamp: Number(row["signed_at"]),
    receivedAtMs: Number(row["received_at"]),
    secretIndex: toNumber(row["secret_index"]),
    traceparent: toText(row["traceparent"]),
    attempts: Number(row["attempts"]),
    replays: Number(row["replays"]),
  };
}

function toEventColumns(row: SqlRow): EventColumns {
  return {
    event: toText(row["event"]),
    orderKey: toText(row["order_key"]),
    position: toText(row["position"]),
    status: toText(row["status"]),
    workspaceId: toText(row["workspace"]),
  };
}

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** PostgreSQL returns 64-bit integers as text. */
export function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Drivers differ: Buffer, Uint8Array or ArrayBuffer. */
function toBytes(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value;
  return value instanceof ArrayBuffer ? new Uint8Array(value) : null;
}
