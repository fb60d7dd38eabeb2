// SQLite counts by reading, and a read blocks the event loop. So deliveries are counted in steps, between which others are
// stored: rows that are settled or purged meanwhile may or may not be counted.

import type { SqlRow } from "./inbox-row.ts";
import type { SqlStatements } from "./sql-statements.ts";

export interface SqlReader {
  /**
   * Returns the rows of a statement that changes nothing.
   *
   * @param isLarge it reads many rows, and may take longer
   */
  read(statement: string, values: readonly unknown[], isLarge?: boolean): Promise<readonly SqlRow[]>;
  /** How many rows one statement reads at most to count or to list; it may block other work. */
  readonly stepRows: number;
  /** `$1` of the statements that need the time; `null` for the server's clock. */
  now(): number | null;
}

/** Rows of `state`, `count` and, on the pending one, `oldest` in milliseconds. */
export async function countStates(reader: SqlReader, sql: SqlStatements): Promise<readonly SqlRow[]> {
  const { stepRows } = reader;
  const { waiting, running, oldest } = await countLiveRows(reader, sql);
  const counts = new Map<unknown, number>([["done", -waiting]]);
  const [range] = await reader.read(sql.seqRange, []);
  const last = Number(range?.["last"] ?? -1);
  for (let from = Number(range?.["first"] ?? 0); from <= last; from += stepRows) {
    for (const { state, count } of await reader.read(sql.countOutcomes, [from, from + stepRows], true)) {
      counts.set(state, (counts.get(state) ?? 0) + Number(count));
    }
  }
  return [
    { state: "pending", count: waiting - running, oldest },
    { state: "running", count: running },
    ...[...counts].map(([state, count]) => ({ state, count: Math.max(0, count) })),
  ];
}

/** Waiting rows, those of them that are claimed, and how long the oldest of the others has waited. */
async function countLiveRows({ read, now, stepRows }: SqlReader, sql: SqlStatements) {
  let [after, waiting, running] = [0, 0, 0];
  let oldest: { readonly id: number; readonly wakeAtMs: number } | undefined;
  for (;;) {
    const [page] = await read(sql.keysPage, [after, stepRows], true);
    const last = Number(page?.["last"] ?? after);
    if (last === after) break;
    const [counts] = await read(sql.countLive, [after, last], true);
    waiting += Number(counts?.["waiting"]);
    running += Number(counts?.["running"]);
    const [key] = await read(sql.oldestKey, [now(), after, last], true);
    const wakeAtMs = Number(key?.["wake_at"] ?? Number.POSITIVE_INFINITY);
    if (wakeAtMs < (oldest?.wakeAtMs ?? Number.POSITIVE_INFINITY))
      oldest = { id: Number(key?.["id"]), wakeAtMs };
    after = last;
  }
  const [row] = oldest ? await read(sql.oldestWaiting, [now(), oldest.id]) : [];
  return { waiting, running, oldest: row?.["oldest"] ?? null };
}
