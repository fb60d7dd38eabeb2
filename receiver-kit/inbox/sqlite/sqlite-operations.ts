// What the inbox does with an open connection, in one synchronous step inside a transaction of the writer.

import type { EventColumns } from "../../event/event-columns.ts";
import type { VerifiedWebhook } from "../../signature/verifier.ts";
import type { InboxInsertResult, InboxRowReference, NewInboxRow } from "../inbox.ts";
import { toNumber } from "../sql/inbox-row.ts";
import type { InlineOptions } from "../sql/sql-methods.ts";
import type { SqliteConnection, SqliteRow, SqliteValue } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";

export function insertRow(connection: SqliteConnection, row: NewInboxRow, nowMs: number): InboxInsertResult {
  const { source, id, body, orderKey, position, workspaceId, quarantine } = row;
  const seq = connection.insertPrepared(sql.insertDelivery, deliveryValues(row, nowMs));
  if (seq === undefined) {
    const first = connection.firstPrepared(sql.compareBody, [source, id, body]);
    const same = toNumber(first?.["same"]);
    return { outcome: "duplicate", sameBody: same === null ? null : same === 1 };
  }
  connection.changePrepared(sql.insertBody, [seq, body]);
  if (quarantine === null) {
    const bodyBytes = body.byteLength;
    queueRow(connection, { source, id, seq, orderKey, position, workspaceId, bodyBytes }, nowMs);
  }
  return { outcome: "new" };
}

const deliveryValues = (row: NewInboxRow, nowMs: number): readonly SqliteValue[] => [
  row.source,
  row.id,
  row.channel,
  row.event,
  row.orderKey,
  row.position,
  row.status,
  row.workspaceId,
  row.timestamp,
  nowMs,
  row.quarantine === null ? null : "quarantined",
  row.quarantine,
  row.secretIndex,
  row.traceparent,
];

interface QueuedRow extends InboxRowReference, Pick<EventColumns, "orderKey" | "position" | "workspaceId"> {
  readonly seq: number;
  readonly bodyBytes: number;
}

function queueRow(connection: SqliteConnection, row: QueuedRow, nowMs: number): void {
  const { source, id, seq, orderKey, position, workspaceId, bodyBytes } = row;
  const key = orderKey ?? `id:${id}`;
  connection.changePrepared(sql.sharedStatements.queueKey, [nowMs, source, key, workspaceId]);
  connection.changePrepared(sql.sharedStatements.queueRow, [source, key, position ?? "", seq, bodyBytes]);
}

/** False for a row that waits or has no body. */
export function replayRow(
  connection: SqliteConnection,
  { source, id }: InboxRowReference,
  { event, orderKey, position, status, workspaceId }: EventColumns,
  nowMs: number,
): boolean {
  const found = connection.firstPrepared(sql.sharedStatements.findReplayable, [source, id]);
  if (!found) return false;
  const seq = Number(found["seq"]);
  const columns = [event, orderKey, position, status, workspaceId];
  connection.changePrepared(sql.sharedStatements.replayDelivery, [nowMs, seq, ...columns]);
  const bodyBytes = Number(found["body_bytes"]);
  queueRow(connection, { source, id, seq, orderKey, position, workspaceId, bodyBytes }, nowMs);
  return true;
}

export function beginInline(
  connection: SqliteConnection,
  { id, timestamp, body }: VerifiedWebhook,
  { source, leaseMs }: InlineOptions,
  nowMs: number,
): readonly SqliteRow[] {
  const begun = connection.queryPrepared(sql.sharedStatements.beginInline, [
    nowMs,
    source,
    id,
    timestamp,
    leaseMs,
  ]);
  for (const { seq } of begun) connection.changePrepared(sql.insertBody, [Number(seq), body]);
  return begun;
}
