// Both databases name their columns alike, so what comes out of them is read in one place.

import type {
  Channel,
  Claim,
  InboxStats,
  ReconcileCandidate,
  RowDetails,
  RowReference,
  RowState,
  RowSummary,
} from "./inbox.ts";
import { rowStates } from "./inbox.ts";

export type SqlRow = Readonly<Record<string, unknown>>;

/** Columns of a summary; the length of the body stands for the body. */
export const summaryColumns =
  "seq, source, webhook_id, channel, state, event, order_key, position, status, signed_at, received_at, " +
  "due_at, attempts, replays, last_error, length(body) AS body_bytes";

export function toClaim(row: SqlRow): Claim {
  return {
    ...toColumns(row),
    ...toOrigin(row),
    body: toBytes(row["body"]) ?? new Uint8Array(),
    worker: String(row["worker"]),
    generation: Number(row["generation"]),
    attempts: Number(row["attempts"]),
    replays: Number(row["replays"]),
    head: toText(row["head"]),
  };
}

export function toSummary(row: SqlRow): RowSummary {
  return {
    ...toColumns(row),
    ...toOrigin(row),
    state: row["state"] as RowState,
    dueAtMs: Number(row["due_at"]),
    attempts: Number(row["attempts"]),
    replays: Number(row["replays"]),
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

/** A key may be suspect for several reasons; the first counts. */
export function distinctCandidates(rows: readonly SqlRow[]): readonly ReconcileCandidate[] {
  const found = new Map<string, ReconcileCandidate["reason"]>();
  for (const row of rows) {
    const key = String(row["order_key"]);
    if (!found.has(key)) found.set(key, row["reason"] as ReconcileCandidate["reason"]);
  }
  return [...found].map(([key, reason]) => ({ key, reason }));
}

/** From rows of `state`, `count` and, on the pending one, `oldest` in milliseconds. */
export function toStats(counts: readonly SqlRow[]): InboxStats {
  const rows = Object.fromEntries(rowStates.map((state) => [state, 0])) as Record<RowState, number>;
  let oldestPendingMs: number | null = null;
  for (const { state, count, oldest } of counts) {
    rows[state as RowState] = Number(count);
    if (state === "pending") oldestPendingMs = toNumber(oldest);
  }
  return { rows, oldestPendingMs };
}

function toColumns(row: SqlRow) {
  return {
    event: toText(row["event"]),
    orderKey: toText(row["order_key"]),
    position: toText(row["position"]),
    status: toText(row["status"]),
  };
}

function toOrigin(row: SqlRow) {
  return {
    seq: Number(row["seq"]),
    source: String(row["source"]),
    id: String(row["webhook_id"]),
    channel: row["channel"] as Channel,
    timestamp: Number(row["signed_at"]),
    receivedAtMs: Number(row["received_at"]),
  };
}

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** PostgreSQL hands 64-bit integers over as text. */
export function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Drivers differ: Buffer, Uint8Array or ArrayBuffer. */
function toBytes(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return null;
}
