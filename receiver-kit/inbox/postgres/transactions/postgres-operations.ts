import {
  type InboxClaimOptions,
  type InboxClaimResult,
  type InboxDeath,
  type InboxInsertResult,
  type InboxLease,
  longestDelayMs,
  type NewInboxRow,
} from "../../inbox.ts";
import type { RowEnd, RowEndResult } from "../../row-end.ts";
import { toClaims, toNumber, toReference } from "../../sql/inbox-row.ts";
import type { BoundedPool } from "../connection/bounded-pool.ts";
import type { PostgresQueryable } from "../sql/postgres-pool.ts";
import type { PostgresStatements } from "../sql/postgres-statements.ts";

export interface PostgresDatabase {
  readonly pool: BoundedPool;
  readonly sql: PostgresStatements;
  /** `$1` of the statements that need the time; `null` for the server's clock. */
  now(): number | null;
  /** A key may be locked by a session that does not respond. What shares a statement with it waits no longer. */
  readonly lockTimeoutMs: number;
}

/**
 * Stores many deliveries in one statement, which is one commit. A row that another process is storing at the same time
 * makes the statement wait for that commit, so a duplicate is never acknowledged before the first is durable.
 */
export async function insertRows(
  { pool, sql, now, lockTimeoutMs }: PostgresDatabase,
  newRows: readonly NewInboxRow[],
): Promise<readonly InboxInsertResult[]> {
  const { rows } = await pool.query(sql.insertRows, [
    now(),
    ...columns(newRows, "source", "id", "channel", "event", "orderKey", "position", "status", "workspaceId"),
    ...columns(newRows, "timestamp", "quarantine", "secretIndex", "traceparent"),
    ...joinBodies(newRows),
    lockTimeoutMs,
  ]);
  const stored = new Set(rows.map((row) => rowName(row["source"], row["webhook_id"])));
  // Deleted when found, so that the second of two equal ids in one batch is a duplicate.
  const isNew = newRows.map(({ source, id }) => stored.delete(rowName(source, id)));
  if (isNew.every(Boolean)) return newRows.map(() => ({ outcome: "new" }));
  const duplicates = newRows.filter((_, index) => !isNew[index]);
  const same = await compareBodies(pool, sql, duplicates);
  return newRows.map(({ source, id }, index) =>
    isNew[index]
      ? { outcome: "new" }
      : { outcome: "duplicate", sameBody: same.get(rowName(source, id)) ?? null },
  );
}

async function compareBodies(pool: BoundedPool, sql: PostgresStatements, newRows: readonly NewInboxRow[]) {
  const { rows } = await pool.query(sql.compareBodies, [
    ...columns(newRows, "source", "id"),
    ...joinBodies(newRows),
  ]);
  return new Map(
    rows.map((row) => [rowName(row["source"], row["webhook_id"]), row["same"] as boolean | null]),
  );
}

/** All bodies in one buffer, with the start (from 1, as in SQL) and the length of each. */
function joinBodies(newRows: readonly NewInboxRow[]): [starts: string, lengths: string, joined: Buffer] {
  const lengths = newRows.map(({ body }) => body.byteLength);
  let next = 1;
  const starts = lengths.map((length) => {
    const start = next;
    next += length;
    return start;
  });
  return [arrayText(starts), arrayText(lengths), Buffer.concat(newRows.map(({ body }) => body))];
}

type ArrayElement = string | number | boolean | null;

/** One array per name, as `unnest` takes them. */
function columns<Name extends string>(
  rows: readonly Readonly<Record<Name, ArrayElement>>[],
  ...names: readonly Name[]
): string[] {
  return names.map((name) => arrayText(rows.map((row) => row[name])));
}

const rowName = (source: unknown, id: unknown) => JSON.stringify([source, id]);

/**
 * Ends many rows in one statement; `undefined` for a row that was not held.
 *
 * @param xact id of the transaction in which they must end
 */
export async function endRows(
  queries: PostgresQueryable,
  { sql, now, lockTimeoutMs }: PostgresDatabase,
  ends: readonly RowEnd[],
  xact: string | null = null,
): Promise<readonly (RowEndResult | undefined)[]> {
  const of = (read: (end: RowEnd) => ArrayElement) => arrayText(ends.map(read));
  const { rows } = await queries.query(sql.endRows, [
    now(),
    of(({ claim }) => claim.lease.keyId),
    of(({ claim }) => claim.lease.worker),
    of(({ claim }) => claim.lease.generation),
    of(({ claim }) => claim.position ?? ""),
    of(({ claim }) => claim.seq),
    of(({ outcome }) => outcome),
    of(({ delayMs }) => delayMs),
    of(({ claim }) => claim.attempts),
    of(({ error }) => error),
    of(({ advance }) => advance?.position ?? null),
    of(({ advance }) => advance?.status ?? null),
    of(({ advance }) => advance?.allowSame ?? false),
    of(({ frees }) => frees),
    ...[xact, lockTimeoutMs],
  ]);
  const results = new Map(
    rows.map((row) => [
      Number(row["place"]),
      { result: row["result"] as RowEnd["outcome"], hasMore: row["has_more"] === true },
    ]),
  );
  return ends.map((_, index) => results.get(index + 1));
}

/** An array as PostgreSQL reads it; pg takes twice as long to write one. */
function arrayText(values: readonly ArrayElement[]): string {
  const texts = values.map((value) =>
    typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value),
  );
  return `{${texts.join(",")}}`;
}

/** Keys whose lease expired cannot be claimed before they are recovered. */
export async function claimRows(
  database: PostgresDatabase,
  options: InboxClaimOptions,
): Promise<InboxClaimResult> {
  const first = await claimOnce(database, options);
  if (first.expired.length === 0) return first;
  const died = await recoverExpired(database, first.expired, options);
  const rowsMax = options.rowsMax - first.claims.length;
  if (rowsMax === 0) return { ...first, died };
  const second = await claimOnce(database, { ...options, rowsMax });
  return { ...second, died, claims: [...first.claims, ...second.claims] };
}

async function claimOnce({ pool, sql, now }: PostgresDatabase, options: InboxClaimOptions) {
  const { source, worker, rowsMax, rowsPerKeyMax, bytesMax, leaseMs, keyOrder } = options;
  const { rows } = await pool.query(keyOrder === "strict" ? sql.claimStrict : sql.claimLatest, [
    ...[now(), source, worker, rowsMax, rowsPerKeyMax, bytesMax, leaseMs, longestDelayMs(options)],
    rowsMax,
  ]);
  const [first] = rows;
  const claimed = rows.filter((row) => row["key_id"] !== null);
  return {
    claims: toClaims(claimed, worker),
    died: [] as readonly InboxDeath[],
    nextInMs: toNumber(first?.["next_in"]),
    expired: (first?.["expired"] ?? []) as readonly unknown[],
  };
}

async function recoverExpired(
  { pool, sql, now }: PostgresDatabase,
  keyIds: readonly unknown[],
  { attemptsMax, retry }: InboxClaimOptions,
): Promise<readonly InboxDeath[]> {
  const { firstDelayMs, delayMsMax } = retry;
  const values = [now(), keyIds, attemptsMax, firstDelayMs, delayMsMax];
  const recover = (client: PostgresQueryable) => client.query(sql.recoverExpired, values);
  const { rows } = await pool.transaction(sql.requireVersion, recover);
  return rows.map((row) => ({ ...toReference(row), error: String(row["last_error"]) }));
}

/** Returns the leases that are still held. */
export async function renewLeases(
  { pool, sql, now }: PostgresDatabase,
  leases: readonly InboxLease[],
  leaseMs: number,
): Promise<ReadonlySet<InboxLease>> {
  const values = [now(), leaseMs, ...columns(leases, "keyId", "worker", "generation")];
  const renew = (client: PostgresQueryable) => client.query(sql.renewLeases, values);
  const { rows } = await pool.transaction(sql.requireVersion, renew);
  const held = new Set(rows.map((row) => Number(row["place"])));
  return new Set(leases.filter((_, index) => held.has(index + 1)));
}
