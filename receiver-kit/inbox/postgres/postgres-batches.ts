import type { Arrival, Claim, Insertion, Settlement, SettleOutcome } from "../inbox.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import type { PostgresStatements } from "./postgres-statements.ts";

export type Settling = { readonly claim: Claim; readonly settlement: Settlement };

/**
 * Stores many deliveries in one statement, which is one commit. A row that another process is storing at this moment
 * makes the statement wait for that one's commit, so a duplicate is never acknowledged before the first is durable.
 */
export async function insertTogether(
  pool: PostgresPool,
  sql: PostgresStatements,
  arrivals: readonly Arrival[],
  nowMs: number | null,
): Promise<readonly Insertion[]> {
  const column = <Value>(pick: (arrival: Arrival) => Value) => arrivals.map(pick);
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
    ...joinBodies(arrivals),
  ]);
  const stored = new Set(rows.map((row) => rowName(row["source"], row["webhook_id"])));
  const outcomes = arrivals.map(({ source, id }) => stored.delete(rowName(source, id)));
  if (outcomes.every(Boolean)) return outcomes.map(() => ({ outcome: "new" }));
  const same = await compareBodies(
    pool,
    sql,
    arrivals.filter((_, index) => !outcomes[index]),
  );
  return arrivals.map(({ source, id }, index) =>
    outcomes[index]
      ? { outcome: "new" }
      : { outcome: "duplicate", sameBody: same.get(rowName(source, id)) ?? null },
  );
}

async function compareBodies(pool: PostgresPool, sql: PostgresStatements, arrivals: readonly Arrival[]) {
  const { rows } = await pool.query(sql.compareBodies, [
    arrivals.map(({ source }) => source),
    arrivals.map(({ id }) => id),
    ...joinBodies(arrivals),
  ]);
  return new Map(
    rows.map((row) => [rowName(row["source"], row["webhook_id"]), row["same"] as boolean | null]),
  );
}

/** Where each body starts, counted from 1 as SQL does, how long it is, and all of them in a row. */
function joinBodies(arrivals: readonly Arrival[]): [starts: number[], lengths: number[], joined: Buffer] {
  const lengths = arrivals.map(({ body }) => body.byteLength);
  let next = 1;
  const starts = lengths.map((length) => {
    const start = next;
    next += length;
    return start;
  });
  return [starts, lengths, Buffer.concat(arrivals.map(({ body }) => body))];
}

const rowName = (source: unknown, id: unknown) => JSON.stringify([source, id]);

/** Settles many rows in one statement; a row that does not come back had lost its lease. */
export async function settleTogether(
  pool: PostgresPool,
  sql: PostgresStatements,
  settlings: readonly Settling[],
  nowMs: number | null,
): Promise<readonly SettleOutcome[]> {
  const column = <Value>(pick: (settling: Settling) => Value) => settlings.map(pick);
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
  return settlings.map(({ claim, settlement }) => {
    const state = states.get(claim.seq);
    if (state === undefined) return "lost";
    return state === settlement.state ? "settled" : "settled-stale";
  });
}
