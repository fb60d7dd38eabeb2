import { createHash } from "node:crypto";
import { ReceiverError } from "../../errors.ts";
import type {
  Claim,
  ClaimOptions,
  ClaimResult,
  InsertResult,
  NewRow,
  Settlement,
  SettleOutcome,
} from "../inbox.ts";
import { toClaim, toNumber, toReference } from "../inbox-row.ts";
import type { BoundedPool } from "./bounded-pool.ts";
import type { PostgresStatements } from "./postgres-statements.ts";

export interface PostgresDatabase {
  readonly pool: BoundedPool;
  readonly sql: PostgresStatements;
  /** `$1` of the statements that need the time; `null` for the server's clock. */
  now(): number | null;
}

export interface SettleRequest {
  readonly claim: Claim;
  readonly settlement: Settlement;
}

/**
 * Stores many deliveries in one statement, which is one commit. A row that another process is storing at the same time
 * makes the statement wait for that commit, so a duplicate is never acknowledged before the first is durable.
 */
export async function insertRows(
  { pool, sql, now }: PostgresDatabase,
  newRows: readonly NewRow[],
): Promise<readonly InsertResult[]> {
  const inputs = newRows.map((row) => ({
    ...row,
    state: row.quarantine === null ? "pending" : "quarantined",
  }));
  const { rows } = await pool.query(sql.insertRows, [
    now(),
    ...columns(inputs, "source", "id", "channel", "state", "event", "orderKey", "position", "status"),
    ...columns(inputs, "workspaceId", "timestamp", "quarantine", "secretIndex", "traceparent"),
    ...joinBodies(newRows),
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

async function compareBodies(pool: BoundedPool, sql: PostgresStatements, newRows: readonly NewRow[]) {
  const { rows } = await pool.query(sql.compareBodies, [
    ...columns(newRows, "source", "id"),
    ...joinBodies(newRows),
  ]);
  return new Map(
    rows.map((row) => [rowName(row["source"], row["webhook_id"]), row["same"] as boolean | null]),
  );
}

/** All bodies in one buffer, with the start (from 1, as in SQL) and the length of each. */
function joinBodies(newRows: readonly NewRow[]): [starts: number[], lengths: number[], joined: Buffer] {
  const lengths = newRows.map(({ body }) => body.byteLength);
  let next = 1;
  const starts = lengths.map((length) => {
    const start = next;
    next += length;
    return start;
  });
  return [starts, lengths, Buffer.concat(newRows.map(({ body }) => body))];
}

/** One array per name, as `unnest` takes them. */
function columns<Row>(rows: readonly Row[], ...names: readonly (keyof Row)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}

const rowName = (source: unknown, id: unknown) => JSON.stringify([source, id]);

/** Settles many rows in one statement; a row that is not returned had lost its lease. */
export async function settleRows(
  { pool, sql, now }: PostgresDatabase,
  requests: readonly SettleRequest[],
): Promise<readonly SettleOutcome[]> {
  const inputs = requests.map(({ claim, settlement: { state, advance } }) => {
    const { key = null, position = null, status = null, allowSame = false } = advance ?? {};
    return { ...claim, state, key, position, status, allowSame };
  });
  const { rows } = await pool.query(sql.settleRows, [
    now(),
    ...columns(inputs, "seq", "worker", "generation", "state", "key", "position", "status", "allowSame"),
  ]);
  const states = new Map(rows.map((row) => [Number(row["seq"]), row["state"]]));
  return requests.map(({ claim, settlement }) => {
    const state = states.get(claim.seq);
    if (state === undefined) return "lost";
    return state === settlement.state ? "settled" : "settled-stale";
  });
}

/**
 * The claims of a source run one at a time, under an advisory lock: only so can "no other row of the key runs" be read
 * and made true in one step. The next statement takes its snapshot after the lock is held.
 */
export function claimRows(
  { pool, sql, now }: PostgresDatabase,
  { source, worker, leaseMs, rowsMax, attemptsMax, keyOrder, reclaimUntilMs }: ClaimOptions,
  channel: string,
): Promise<ClaimResult> {
  const lock = lockNumber(`${channel}.claim.${source}`);
  const claimed = pool.transaction(`SELECT pg_advisory_xact_lock(${lock})`, async (client) => {
    const at = now();
    const expired = await client.query(sql.reclaimExpired, [at, attemptsMax, source, reclaimUntilMs]);
    const statement = keyOrder === "strict" ? sql.claimStrict : sql.claimLatest;
    const { rows } = await client.query(statement, [at, worker, leaseMs, rowsMax, source]);
    const next = rows.length < rowsMax ? await client.query(sql.nextDue, [at, source]) : undefined;
    return {
      claims: rows.map(toClaim),
      died: expired.rows.filter((row) => row["state"] === "dead").map(toReference),
      nextInMs: toNumber(next?.rows[0]?.["next_in"]),
      // A row is due at the time of its claim.
      nowMs: Number(rows[0]?.["due_at"] ?? next?.rows[0]?.["now"]),
    };
  });
  return claimed.catch(async (error: unknown) => {
    if ((error as { code?: unknown }).code !== lockNotAvailable) throw error;
    throw await claimsBlocked(pool, lock, error);
  });
}

const lockNotAvailable = "55P03";

/** Any role of the database can take an advisory lock, so the message names the session that an operator may end. */
async function claimsBlocked(pool: BoundedPool, lock: bigint, cause: unknown): Promise<ReceiverError> {
  const { rows } = await pool.query(lockHolder, [String(lock)]).catch(() => ({ rows: [] }));
  const [holder] = rows;
  const name = holder ? `process ${holder["pid"]} of role ${holder["usename"]}` : "another session";
  return new ReceiverError("INBOX_UNAVAILABLE", `postgres inbox: ${name} blocks the claims of events`, {
    cause,
  });
}

const lockHolder = `
  SELECT activity.pid, activity.usename FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
  WHERE held.locktype = 'advisory' AND held.granted
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((held.classid::bigint << 32) | held.objid::bigint) = $1::bigint`;

/** A number, because statements that are sent together take no parameters. */
function lockNumber(name: string): bigint {
  return createHash("sha256").update(name).digest().readBigInt64BE();
}

/** Returns the `seq` of the claims that are still held. */
export async function renewLeases(
  { pool, sql, now }: PostgresDatabase,
  claims: readonly Claim[],
  leaseMs: number,
): Promise<ReadonlySet<number>> {
  const values = [now(), leaseMs, ...columns(claims, "seq", "worker", "generation")];
  const { rows } = await pool.query(sql.renewLeases, values);
  return new Set(rows.map((row) => Number(row["seq"])));
}
