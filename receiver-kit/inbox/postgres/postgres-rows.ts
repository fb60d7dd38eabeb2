// Reads the rows of the statements.

import { bytesOf } from "@workspace-tasks/kernel/realm.ts";
import type * as inbox from "../inbox.ts";

export type SqlRow = Readonly<Record<string, unknown>>;

/** From rows in the order of their keys and positions. A claim of an expired lease counts as an attempt, too. */
export function toClaims(rows: readonly SqlRow[], worker: string): readonly inbox.InboxClaim[] {
  const leases = new Map<number, inbox.InboxLease>();
  return rows.map((row) => {
    const keyId = Number(row["key_id"]);
    const lease = leases.get(keyId) ?? { keyId, worker, generation: Number(row["generation"]) };
    leases.set(keyId, lease);
    return Object.assign(toStoredRow(row), {
      attempts: Number(row["attempts"]) + 1,
      body: toBytes(row["body"]) ?? new Uint8Array(),
      lease,
      head: toText(row["head"]),
    });
  });
}

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

export function toReference(row: SqlRow): inbox.InboxRowReference {
  return { source: String(row["source"]), id: String(row["webhook_id"]) };
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

/** A key may be found for several reasons; the first counts. */
export function toCandidates(rows: readonly SqlRow[]): readonly inbox.ReconcileCandidate[] {
  const found = new Map<string, inbox.ReconcileCandidate>();
  for (const row of rows) {
    const key = String(row["order_key"]);
    const reason = row["reason"] as inbox.ReconcileCandidate["reason"];
    if (!found.has(key)) found.set(key, { key, reason, workspaceId: toText(row["workspace"]) });
  }
  return [...found.values()];
}

/** From rows of `name` and `value`; one without a name where there are no marks. */
export function toMarks(rows: readonly SqlRow[]): inbox.InboxMarks {
  const named = rows.filter((row) => row["name"] !== null);
  return Object.fromEntries(named.map((row) => [String(row["name"]), String(row["value"])]));
}

function toStoredRow(row: SqlRow): inbox.StoredInboxRow {
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

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** PostgreSQL returns 64-bit integers as text. */
export function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Drivers differ: Buffer, Uint8Array or ArrayBuffer. */
function toBytes(value: unknown): Uint8Array | null {
  return bytesOf(value) ?? null;
}
