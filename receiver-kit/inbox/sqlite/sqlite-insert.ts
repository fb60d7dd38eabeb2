// How a delivery is stored on SQLite, in one synchronous step inside a transaction of the writer.

import type { InboxInsertResult, NewInboxRow } from "../inbox.ts";
import { toNumber } from "../sql/inbox-row.ts";
import type { SqliteConnection, SqliteValue } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";

export function insertRow(connection: SqliteConnection, row: NewInboxRow, nowMs: number): InboxInsertResult {
  const { source, id, body, orderKey, position, workspaceId, quarantine } = row;
  const seq = connection.insertPrepared(sql.insertDelivery, deliveryValues(row, nowMs));
  if (seq === undefined) {
    const first = connection.firstPrepared(sql.compareBody, [source, id, body]);
    const same = toNumber(first?.["same"]);
    return { outcome: "duplicate", sameBody: same === null ? null : same === 1 };
  }
  connection.changePrepared(sql.sharedStatements.insertBody, [seq, body]);
  if (quarantine === null) {
    const key = orderKey ?? `id:${id}`;
    connection.changePrepared(sql.sharedStatements.queueKey, [nowMs, source, key, workspaceId]);
    const queued = [source, key, position ?? "", seq, body.byteLength];
    connection.changePrepared(sql.sharedStatements.queueRow, queued);
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
