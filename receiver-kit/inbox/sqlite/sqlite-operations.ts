// What the inbox does with an open connection, in one synchronous step inside a transaction of the writer.

import type { VerifiedWebhook } from "../../signature/verifier.ts";
import type {
  Claim,
  ClaimOptions,
  ClaimResult,
  HeadAdvance,
  InsertResult,
  NewRow,
  Settlement,
  SettleOutcome,
} from "../inbox.ts";
import { toClaim, toHead, toNumber, toReference } from "../inbox-row.ts";
import type { HeadReference } from "../order-head.ts";
import type { InlineOptions } from "../sql-methods.ts";
import type { SqliteConnection, SqliteRow } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";

export function insertRow(connection: SqliteConnection, row: NewRow, nowMs: number): InsertResult {
  const { source, id, channel, event, orderKey, position, status, workspaceId } = row;
  const { timestamp, quarantine, body, secretIndex, traceparent } = row;
  const state = quarantine === null ? "pending" : "quarantined";
  const columns = [event, orderKey, position, status, workspaceId, timestamp, nowMs, quarantine];
  if (
    connection.changePrepared(sql.insertRow, [
      source,
      id,
      channel,
      state,
      ...columns,
      secretIndex,
      traceparent,
      body.byteLength,
    ]) > 0
  ) {
    connection.changePrepared(sql.insertBody, [body]);
    return { outcome: "new" };
  }
  const [first] = connection.queryPrepared(sql.compareBody, [source, id, body]);
  const same = toNumber(first?.["same"]);
  return { outcome: "duplicate", sameBody: same === null ? null : same === 1 };
}

export function claimRows(connection: SqliteConnection, options: ClaimOptions, nowMs: number): ClaimResult {
  const { source, worker, leaseMs, rowsMax, attemptsMax, keyOrder, reclaimUntilMs } = options;
  const expired = connection.queryPrepared(sql.reclaimExpired, [nowMs, attemptsMax, source, reclaimUntilMs]);
  const values = [nowMs, worker, nowMs + leaseMs, rowsMax, source];
  const rows = connection.queryPrepared(sql.claimRows(keyOrder), values);
  const nextAtMs = toNumber(connection.queryPrepared(sql.nextDue, [nowMs, source])[0]?.["at"]);
  const headOf = (key: unknown) =>
    key === null ? null : readHead(connection, { source, key: String(key) }, nowMs)?.position;
  const bodyOf = (seq: unknown) => connection.queryPrepared(sql.readBody, [Number(seq)])[0]?.["body"];
  return {
    claims: rows
      .map((row) => toClaim({ ...row, body: bodyOf(row["seq"]), head: headOf(row["order_key"]) }))
      .sort((a, b) => a.seq - b.seq),
    died: expired.filter((row) => row["state"] === "dead").map(toReference),
    nextInMs: nextAtMs === null ? null : nextAtMs - nowMs,
    nowMs,
  };
}

export function beginInline(
  connection: SqliteConnection,
  { id, timestamp, body }: VerifiedWebhook,
  { source, leaseMs }: InlineOptions,
  nowMs: number,
): readonly SqliteRow[] {
  const values = [nowMs, source, id, timestamp, leaseMs, body.byteLength];
  const begun = connection.queryPrepared(sql.beginInline, values);
  for (const { seq } of begun) connection.changePrepared(sql.insertInlineBody, [Number(seq), body]);
  return begun;
}

/** Returns the `seq` of the claims that are still held. */
export function renewLeases(
  connection: SqliteConnection,
  claims: readonly Claim[],
  leaseMs: number,
  nowMs: number,
): ReadonlySet<number> {
  const renewed = claims.filter(
    ({ seq, worker, generation }) =>
      connection.changePrepared(sql.renewLease, [seq, worker, generation, nowMs + leaseMs, nowMs]) > 0,
  );
  return new Set(renewed.map(({ seq }) => seq));
}

/** Ends a row and advances its head. */
export function settleRow(
  connection: SqliteConnection,
  claim: Claim,
  { state, advance }: Settlement,
  nowMs: number,
): SettleOutcome {
  if (!isHeld(connection, claim)) return "lost";
  const isNewest = !advance || advanceHead(connection, claim, advance, nowMs);
  connection.changePrepared(sql.settleRow, [claim.seq, isNewest ? state : "stale"]);
  return isNewest ? "settled" : "settled-stale";
}

export function isHeld(connection: SqliteConnection, { seq, worker, generation }: Claim): boolean {
  return connection.queryPrepared(sql.checkHeld, [seq, worker, generation]).length > 0;
}

/** True when the head advanced. */
export function advanceHead(
  connection: SqliteConnection,
  { source, workspaceId }: Pick<Claim, "source" | "workspaceId">,
  { key, position, status, allowSame }: HeadAdvance,
  nowMs: number,
): boolean {
  const values = [source, key, position, status, nowMs, allowSame ? 1 : 0, workspaceId];
  return connection.changePrepared(sql.advanceHead, values) > 0;
}

export function readHead(connection: SqliteConnection, { source, key }: HeadReference, nowMs: number) {
  return toHead(connection.queryPrepared(sql.sharedStatements.headOf, [nowMs, source, key])[0]);
}
