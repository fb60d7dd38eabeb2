// Stores, claims and ends rows. Deliveries that arrive together share a commit; so do ends without a transaction of their
// own, and a single one costs a statement for one row.

import { isReceiverError } from "../../errors.ts";
import type * as inbox from "../inbox.ts";
import { failedEnd, type RowEnd, type RowEndResult, settledEnd, settleOutcome } from "../row-end.ts";
import { type SqlRow, toBytes, toNumber, toStoredRow, toText } from "../sql/rows.ts";
import { longestDelayMs } from "../work-queue.ts";
import { createGroupCommit } from "./group-commit.ts";
import { type Call, codeOf, type GuardedPool, unavailable } from "./guarded-pool.ts";

import type { PostgresStatements } from "./postgres-statements.ts";

export interface PostgresDatabase {
  readonly pool: GuardedPool;
  readonly sql: PostgresStatements;
  /** `$1` of the statements that need the time; `null` for the server's clock. */
  now(): number | null;
  /**
   * Called when a statement did nothing because of the version of the schema. Resolves when that had only been read before
   * a migration that permits this release.
   *
   * @throws {ReceiverError} `RELEASE_TOO_OLD`
   */
  requireUsable(): Promise<void>;
  /** Rows of a source may have become claimable. */
  wake(source: string): void;
}

/** Stores deliveries, those of one moment in one commit. A duplicate resolves when the first is durable. */
export function createInsert(database: PostgresDatabase) {
  const insert = createGroupCommit<inbox.NewInboxRow, inbox.InboxInsertResult>({
    ...groupOptions,
    commit: (rows) => insertRows(database, rows),
    bytesOf: ({ body }) => body.byteLength,
  });
  return async (row: inbox.NewInboxRow) => {
    const result = await insert(row).catch(nameLock);
    if (result.outcome === "new") database.wake(row.source);
    return result;
  };
}

/**
 * A row that another process is storing at the same time makes the statement wait for that commit, so a duplicate is never
 * acknowledged before the first is durable.
 */
async function insertRows(
  database: PostgresDatabase,
  rows: readonly inbox.NewInboxRow[],
): Promise<readonly inbox.InboxInsertResult[]> {
  const places = await untilUsable(database, () => insertNow(database, rows));
  const duplicates = rows.filter((_, index) => !places.has(index + 1));
  const same = duplicates.length > 0 ? await compareBodies(database, duplicates) : [];
  return rows.map((row, index) =>
    places.has(index + 1)
      ? { outcome: "new" }
      : { outcome: "duplicate", sameBody: same[duplicates.indexOf(row)] ?? null },
  );
}

const columnsOf = (row: inbox.NewInboxRow) => [
  row.source,
  row.id,
  row.channel,
  row.event,
  row.orderKey,
  row.position,
  row.status,
  row.workspaceId,
  row.timestamp,
  row.secretIndex,
  row.traceparent,
  row.quarantine,
];

/** The result of a statement that returns `undefined` when this release may not write. */
async function untilUsable<Result>(
  { requireUsable }: PostgresDatabase,
  attempt: () => Promise<Result | undefined>,
): Promise<Result> {
  for (;;) {
    const result = await attempt();
    if (result !== undefined) return result;
    await requireUsable();
  }
}

/** The places of those that are new, from 1 on; `undefined` when this release may not write. */
async function insertNow(
  { pool, sql, now }: PostgresDatabase,
  rows: readonly inbox.NewInboxRow[],
): Promise<ReadonlySet<number> | undefined> {
  const [first, ...others] = rows;
  const [stored] =
    first && others.length === 0
      ? await pool.rows("write", [sql.insertRow, [now(), ...columnsOf(first), first.body]])
      : await pool.rows("insert", [
          sql.insertRows,
          [now(), ...transpose(rows.map(columnsOf)), ...joinBodies(rows)],
        ]);
  return stored?.["is_usable"] ? new Set(stored["places"] as readonly number[]) : undefined;
}

/** All bodies in one buffer, with the start (from 1, as in SQL) and the length of each. */
function joinBodies(
  rows: readonly inbox.NewInboxRow[],
): [starts: number[], lengths: number[], joined: Buffer] {
  const lengths = rows.map(({ body }) => body.byteLength);
  let next = 1;
  const starts = lengths.map((length) => {
    const start = next;
    next += length;
    return start;
  });
  return [starts, lengths, Buffer.concat(rows.map(({ body }) => body))];
}

async function compareBodies(
  { pool, sql }: PostgresDatabase,
  rows: readonly inbox.NewInboxRow[],
): Promise<readonly (boolean | null)[]> {
  const ids = transpose(rows.map(({ source, id }) => [source, id]));
  const compare: Call = [sql.compareBodies, [...ids, ...joinBodies(rows)]];
  const [compared] = await pool.run("write", [compare, [sql.awaitReplication, []]]);
  return (compared?.rows ?? []).map(({ same }) => same as boolean | null);
}

/** Ends rows that have no transaction of their own, those of one moment in one commit. */
export function createEnds(database: PostgresDatabase) {
  const end = createGroupCommit<RowEnd, RowEndResult | undefined>({
    ...groupOptions,
    commit: async (ends) => {
      const [first] = ends;
      return ends.length === 1 && first ? [await endOne(database, first)] : endRows(database, ends);
    },
    bytesOf: () => 0,
  });
  const endAndWake = async (requested: RowEnd) => {
    const ended = await end(requested).catch(nameLock);
    if (ended?.hasMore) database.wake(requested.claim.source);
    return ended;
  };
  return {
    async settle(claim: inbox.InboxClaim, settlement: inbox.InboxSettlement) {
      const requested = settledEnd(claim, settlement);
      return settleOutcome(requested, await endAndWake(requested));
    },
    async fail(claim: inbox.InboxClaim, failure: inbox.FailedAttempt) {
      return (await endAndWake(failedEnd(claim, failure))) !== undefined;
    },
  };
}

/** As one row where it has such a statement; what that does not end, the one for many rows explains. */
async function endOne(database: PostgresDatabase, end: RowEnd): Promise<RowEndResult | undefined> {
  const call = endCall(database, end);
  if (call) {
    try {
      const rows = await database.pool.rows("write", call);
      return { result: end.outcome, hasMore: rows.length > 0 };
    } catch (error) {
      if (!isFenced(error)) throw error;
    }
  }
  const [result] = await endRows(database, [end]);
  return result;
}

/** A statement of an end was fenced off: by its lease, a newer event, or the version of the schema. */
export const isFenced = (error: unknown) => codeOf(error) === "22012";

/** The statement that ends one row, for the usual ends. */
export function endCall({ sql, now }: Pick<PostgresDatabase, "sql" | "now">, end: RowEnd): Call | undefined {
  const { claim, outcome, advance } = end;
  const { lease, seq, orderKey, attempts } = claim;
  const values = [now(), lease.keyId, seq, lease.worker, lease.generation, claim.position ?? ""];
  const isFirst = outcome === "done" && attempts === 1;
  const recorded = isFirst ? [] : [outcome, attempts];
  if (outcome !== "done" && outcome !== "stale") return undefined;
  if (orderKey === null)
    return [isFirst ? sql.endFreeRow : sql.endFreeRowAndRecord, [...values, ...recorded]];
  if (!advance || outcome === "stale") return undefined;
  const head = [advance.position, advance.status, advance.allowSame];
  return [isFirst ? sql.endRow : sql.endRowAndRecord, [...values, ...head, ...recorded]];
}

/** The statements that end many rows; the last one says which. `isWhole`: all of them as requested, or none. */
export function endCalls(
  { sql, now }: PostgresDatabase,
  ends: readonly RowEnd[],
  isWhole: boolean,
): readonly Call[] {
  const of = (read: (end: RowEnd) => string | number | boolean | null) => ends.map(read);
  const keys = of(({ claim }) => claim.lease.keyId);
  const end: Call = [
    sql.endRows,
    [
      now(),
      keys,
      of(({ claim }) => claim.seq),
      of(({ claim }) => claim.lease.worker),
      of(({ claim }) => claim.lease.generation),
      of(({ claim }) => claim.position ?? ""),
      of(({ outcome }) => outcome),
      of(({ claim }) => claim.attempts),
      of(({ advance }) => advance?.position ?? null),
      of(({ advance }) => advance?.status ?? null),
      of(({ advance }) => advance?.allowSame ?? false),
      of(({ delayMs }) => delayMs),
      of(({ error }) => error),
      isWhole,
    ],
  ];
  return [[sql.lockKeys, [keys]], end];
}

/** In one transaction; `undefined` for a row that was not held. */
async function endRows(
  database: PostgresDatabase,
  ends: readonly RowEnd[],
): Promise<readonly (RowEndResult | undefined)[]> {
  const rows = await untilUsable(database, async () => {
    const results = await database.pool.run("write", endCalls(database, ends, false));
    const found = results.at(-1)?.rows;
    return found?.[0]?.["is_usable"] ? found : undefined;
  });
  const results = new Map(
    rows.map((row) => [
      Number(row["place"]),
      { result: row["result"] as RowEnd["outcome"], hasMore: row["has_more"] === true },
    ]),
  );
  return ends.map((_, index) => results.get(index + 1));
}

/** Why ends were fenced off, of a transaction that has been rolled back. */
export async function whyFenced(
  database: PostgresDatabase,
  ends: readonly RowEnd[],
): Promise<"lost" | "superseded"> {
  const leases = transpose(
    ends.map(({ claim: { lease, seq } }) => [lease.keyId, seq, lease.worker, lease.generation]),
  );
  const [row] = await database.pool.query(database.sql.leasesOf.text, leases);
  await database.requireUsable();
  const held = (row?.["held"] ?? []) as readonly number[];
  return held.length === ends.length ? "superseded" : "lost";
}

/** How many keys a claim locks to get its rows: with too few, the next claim follows at once. */
export class ClaimSize {
  #rowsPerKey = 1;

  keysFor(rowsMax: number): number {
    return Math.min(rowsMax, Math.ceil((rowsMax * spareKeys) / this.#rowsPerKey));
  }

  observe(claims: readonly inbox.InboxClaim[]): void {
    if (claims.length === 0) return;
    this.#rowsPerKey = claims.length / new Set(claims.map(({ lease }) => lease)).size;
  }
}

/** Keys that another worker has locked, or whose rows are not due, are skipped. */
const spareKeys = 1.1;

/** Keys whose lease expired cannot be claimed before they are recovered. */
export async function claimRows(
  database: PostgresDatabase,
  size: ClaimSize,
  options: inbox.InboxClaimOptions,
): Promise<inbox.InboxClaimResult> {
  const claims: inbox.InboxClaim[] = [];
  const died: inbox.InboxDeath[] = [];
  for (let repeats = 0; ; repeats++) {
    const rowsMax = options.rowsMax - claims.length;
    const found = await claimOnce(database, { ...options, rowsMax }, size.keysFor(rowsMax));
    claims.push(...found.claims);
    if (found.expired.length > 0) died.push(...(await recover(database, found.expired, options)));
    const isRepeated = found.isAhead || found.expired.length > 0;
    if (!isRepeated || repeats === repeatsMax || claims.length >= options.rowsMax) {
      size.observe(claims);
      const hasMore = claims.length < options.rowsMax && found.hasMore;
      return { claims, died, nextInMs: hasMore ? 0 : found.nextInMs };
    }
  }
}

/** A key that another transaction is changing is tried again after this time. */
const unseenMs = 20;

/** Expired leases and times that are too far ahead are found by the first claim; others may come meanwhile. */
const repeatsMax = 2;

async function claimOnce(database: PostgresDatabase, options: inbox.InboxClaimOptions, keysMax: number) {
  const { pool, sql, now, requireUsable } = database;
  const { source, worker, rowsMax, rowsPerKeyMax, bytesMax, leaseMs, keyOrder } = options;
  const longestMs = longestDelayMs(options);
  const isStrict = keyOrder === "strict";
  const next: Call = [sql.nextDue, [now(), source, longestMs]];
  const [claimed, due] = await pool.run("claim", [
    [
      isStrict ? sql.claimStrict : sql.claimLatest,
      [now(), source, worker, rowsMax, rowsPerKeyMax, bytesMax, leaseMs, keysMax, longestMs],
    ],
    next,
  ]);
  const rows = claimed?.rows ?? [];
  const unready = (rows[0]?.["unready"] ?? []) as readonly number[];
  let nextRow = due?.rows[0];
  if (nextRow?.["is_usable"] !== true) await requireUsable();
  const isAhead = nextRow?.["is_ahead"] === true;
  if (isAhead) await pool.run("claim", [[sql.wakeAhead, [now(), source, longestMs]]]);
  let soonestMs: number | null = null;
  if (unready.length > 0) {
    const [deferred, after] = await pool.run("claim", [[sql.deferKeys, [now(), unready, isStrict]], next]);
    nextRow = after?.rows[0];
    // One that is still due has rows that the claim did not see.
    if ((deferred?.rows.length ?? 0) < unready.length) soonestMs = unseenMs;
  }
  const nextInMs = toNumber(nextRow?.["next_in"]);
  return {
    claims: toClaims(
      rows.filter((row) => row["key_id"] !== null),
      worker,
    ),
    expired: (rows[0]?.["expired"] ?? []) as readonly number[],
    hasMore: rows[0]?.["has_more"] === true,
    isAhead,
    nextInMs: soonestMs === null ? nextInMs : Math.min(soonestMs, nextInMs ?? soonestMs),
  };
}

/** From rows in the order of their keys and positions. A claim of an expired lease counts as an attempt, too. */
function toClaims(rows: readonly SqlRow[], worker: string): readonly inbox.InboxClaim[] {
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

async function recover(
  { pool, sql, now }: PostgresDatabase,
  keyIds: readonly number[],
  options: inbox.InboxClaimOptions,
): Promise<readonly inbox.InboxDeath[]> {
  const { firstDelayMs, delayMsMax } = options.retry;
  const values = [now(), keyIds, options.attemptsMax, firstDelayMs, delayMsMax, longestDelayMs(options)];
  const rows = await pool.rows("write", [sql.recoverExpired, values]);
  return rows.map((row) => ({
    source: String(row["source"]),
    id: String(row["webhook_id"]),
    error: String(row["last_error"]),
  }));
}

/** Returns the leases that are still held. */
export async function renewLeases(
  { pool, sql, now, requireUsable }: PostgresDatabase,
  leases: readonly inbox.InboxLease[],
  leaseMs: number,
): Promise<ReadonlySet<inbox.InboxLease>> {
  const columns = transpose(leases.map(({ keyId, worker, generation }) => [keyId, worker, generation]));
  if (columns.length === 0) return new Set();
  const values = [now(), leaseMs, ...columns];
  const [row] = await pool.rows("claim", [sql.renewLeases, values]);
  if (row?.["is_usable"] !== true) await requireUsable();
  const held = new Set(row?.["places"] as readonly number[]);
  return new Set(leases.filter((_, index) => held.has(index + 1)));
}

const transpose = <Value>(rows: readonly (readonly Value[])[]): readonly (readonly Value[])[] =>
  (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] as Value));

/** The server's error says neither what is locked nor why that ends the call. */
export function nameLock(error: unknown): never {
  if (codeOf(error) !== "55P03" || isReceiverError(error)) throw error;
  throw unavailable(
    "another session holds a lock of the inbox for longer than two fifths of queryTimeoutMs, 2 s at most",
    error,
  );
}

const groupOptions = {
  itemsMax: 256,
  // Bodies are sent as text, which both sides hold in memory.
  bytesMax: 4_000_000,
  concurrency: 2,
  /**
   * Classes 22 and 23 are about values and constraints, 54 about sizes, 55P03 is the lock of a key that another session
   * holds; other errors would fail every row alike.
   */
  isCausedByItem: (error: unknown) => /^(22|23|54|55P03)/.test(codeOf(error)),
};
