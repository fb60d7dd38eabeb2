import type { Claim, InsertResult, NewRow, Settlement, SettleOutcome } from "../inbox.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import type { PostgresStatements } from "./postgres-statements.ts";

export type SettleRequest = { readonly claim: Claim; readonly settlement: Settlement };

/**
 * Stores many deliveries in one statement, which is one commit. A row that another process is storing at this moment
 * makes the statement wait for that one's commit, so a duplicate is never acknowledged before the first is durable.
 */
export async function insertMany(
  pool: PostgresPool,
  sql: PostgresStatements,
  newRows: readonly NewRow[],
  nowMs: number | null,
): Promise<readonly InsertResult[]> {
  const column = <Value>(pick: (newRow: NewRow) => Value) => newRows.map(pick);
  const { rows } = await pool.query(sql.insertRows, [
    nowMs,
    column(({ source }) => source),
    column(({ id }) => id),
    column(({ channel }) => channel),
    column(({ quarantine }) => (quarantine === null ? "pending" : "quarantined")),
    column(({ event }) => event),
    column(({ orderKey }) => orderKey),
    column(({ position }) => position),
    column(({ status }) => status),
    column(({ timestamp }) => timestamp),
    column(({ quarantine }) => quarantine),
    ...joinBodies(newRows),
  ]);
  const stored = new Set(rows.map((row) => rowName(row["source"], row["webhook_id"])));
  const outcomes = newRows.map(({ source, id }) => stored.delete(rowName(source, id)));
  if (outcomes.every(Boolean)) return outcomes.map(() => ({ outcome: "new" }));
  const same = await compareBodies(
    pool,
    sql,
    newRows.filter((_, index) => !outcomes[index]),
  );
  return newRows.map(({ source, id }, index) =>
    outcomes[index]
      ? { outcome: "new" }
      : { outcome: "duplicate", sameBody: same.get(rowName(source, id)) ?? null },
  );
}

async function compareBodies(pool: PostgresPool, sql: PostgresStatements, newRows: readonly NewRow[]) {
  const { rows } = await pool.query(sql.compareBodies, [
    newRows.map(({ source }) => source),
    newRows.map(({ id }) => id),
    ...joinBodies(newRows),
  ]);
  return new Map(
    rows.map((row) => [rowName(row["source"], row["webhook_id"]), row["same"] as boolean | null]),
  );
}

/** Where each body starts, counted from 1 as SQL does, how long it is, and all of them in a row. */
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

const rowName = (source: unknown, id: unknown) => JSON.stringify([source, id]);

/** Settles many rows in one statement; a row that does not come back had lost its lease. */
export async function settleMany(
  pool: PostgresPool,
  sql: PostgresStatements,
  requests: readonly SettleRequest[],
  nowMs: number | null,
): Promise<readonly SettleOutcome[]> {
  const column = <Value>(pick: (request: SettleRequest) => Value) => requests.map(pick);
  const { rows } = await pool.query(sql.settleRows, [
    nowMs,
    column(({ claim }) => claim.seq),
    column(({ claim }) => claim.worker),
    column(({ claim }) => claim.generation),
    column(({ settlement }) => settlement.state),
    column(({ settlement }) => settlement.move?.key ?? null),
    column(({ settlement }) => settlement.move?.position ?? null),
    column(({ settlement }) => settlement.move?.status ?? null),
    column(({ settlement }) => settlement.move?.allowSame ?? false),
  ]);
  const states = new Map(rows.map((row) => [Number(row["seq"]), row["state"]]));
  return requests.map(({ claim, settlement }) => {
    const state = states.get(claim.seq);
    if (state === undefined) return "lost";
    return state === settlement.state ? "settled" : "settled-stale";
  });
}
