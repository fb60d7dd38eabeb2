// Reads the rows of statements, whichever database returned them.

import { bytesOf } from "@workspace-tasks/kernel/realm.ts";
import type * as inbox from "../inbox.ts";

export type SqlRow = Readonly<Record<string, unknown>>;

export function toSummary(row: SqlRow): inbox.InboxRowSummary {
  return {
    ...toStoredRow(row),
    state: row["state"] as inbox.InboxRowState,
    dueAtMs: Number(row["due_at"]),
    diedAtMs: toNumber(row["died_at"]),
    lastError: toText(row["last_error"]),
    bodyBytes: toNumber(row["body_bytes"]),
  };
}

export function toDetails(row: SqlRow): inbox.InboxRowDetails {
  return { ...toSummary(row), body: toBytes(row["body"]) };
}

export function toHead(row: SqlRow | undefined): inbox.InboxHead | undefined {
  return (
    row && {
      position: String(row["position"]),
      status: toText(row["status"]),
      unchangedMs: Number(row["unchanged"]),
    }
  );
}

export function toCandidate(row: SqlRow): inbox.ReconcileCandidate {
  return {
    key: String(row["order_key"]),
    reason: row["reason"] as inbox.ReconcileCandidate["reason"],
    workspaceId: toText(row["workspace"]),
  };
}

/** From rows of `name` and `value`; one without a name where there are no marks. */
export function toMarks(rows: readonly SqlRow[]): inbox.InboxMarks {
  const named = rows.filter((row) => row["name"] !== null);
  return Object.fromEntries(named.map((row) => [String(row["name"]), String(row["value"])]));
}

export function toStoredRow(row: SqlRow): inbox.StoredInboxRow {
  return {
    source: String(row["source"]),
    id: String(row["webhook_id"]),
    event: toText(row["event"]),
    orderKey: toText(row["order_key"]),
    position: toText(row["position"]),
    status: toText(row["status"]),
    workspaceId: toText(row["workspace"]),
    seq: Number(row["seq"]),
    channel: row["channel"] as inbox.DeliveryChannel,
    timestamp: Number(row["signed_at"]),
    receivedAtMs: Number(row["received_at"]),
    secretIndex: toNumber(row["secret_index"]),
    traceparent: toText(row["traceparent"]),
    attempts: attemptsOf(row),
    replays: Number(row["replays"]),
  };
}

/** The queue counts failed attempts; nothing is recorded where the first one ended well. */
function attemptsOf({ attempts, state }: SqlRow): number {
  const recorded = toNumber(attempts) ?? (state === "done" ? 1 : 0);
  return state === "running" ? recorded + 1 : recorded;
}

export function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** PostgreSQL returns 64-bit integers as text. */
export function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Drivers differ: Buffer, Uint8Array or ArrayBuffer. */
export function toBytes(value: unknown): Uint8Array | null {
  return bytesOf(value) ?? null;
}
