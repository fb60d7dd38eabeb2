// Both databases name their columns alike, so their rows are read in one place.

import type { EventColumns } from "../event/event-columns.ts";
import {
  type Channel,
  type Claim,
  type FailedAttempt,
  type InboxStats,
  type OrderHead,
  type ReconcileCandidate,
  type RowDetails,
  type RowReference,
  type RowState,
  type RowSummary,
  rowStates,
  type StoredRow,
  type WaitingSource,
} from "./inbox.ts";

export type SqlRow = Readonly<Record<string, unknown>>;

/** Columns of a summary; `body_bytes` is null when there is no body. */
export const summaryColumns =
  "seq, source, webhook_id, channel, state, event, order_key, position, status, signed_at, received_at, " +
  "due_at, attempts, replays, last_error, secret_index, traceparent, body_bytes";

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
  return row && { position: String(row["position"]), status: toText(row["status"]) };
}

/** A key may be found for several reasons; the first counts. */
export function toCandidates(rows: readonly SqlRow[], limit: number): readonly ReconcileCandidate[] {
  const found = new Map<string, ReconcileCandidate["reason"]>();
  for (const row of rows) {
    const key = String(row["order_key"]);
    if (!found.has(key)) found.set(key, row["reason"] as ReconcileCandidate["reason"]);
  }
  return [...found].slice(0, limit).map(([key, reason]) => ({ key, reason }));
}

export function toWaiting(row: SqlRow): WaitingSource {
  return { source: String(row["source"]), dueInMs: Number(row["due_in"]) };
}

export function emptyStates(): Record<RowState, number> {
  return Object.fromEntries(rowStates.map((state) => [state, 0])) as Record<RowState, number>;
}

/** From rows of `state`, `count` and, on the pending one, `oldest` in milliseconds. */
export function toStats(counts: readonly SqlRow[]): InboxStats {
  const rows = emptyStates();
  let oldestPendingMs: number | null = null;
  for (const { state, count, oldest } of counts) {
    rows[state as RowState] = Number(count);
    if (state === "pending") oldestPendingMs = toNumber(oldest);
  }
  return { rows, oldestPendingMs };
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
