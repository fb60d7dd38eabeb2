// SQLite counts by reading, and a read blocks the event loop. So deliveries are counted in steps, between which others are
// stored: rows that are settled or purged meanwhile may or may not be counted.

import type { SqlRow } from "../sql/inbox-row.ts";
import { countLive, countOutcomes, oldestKey, oldestWaiting, sharedStatements } from "./sqlite-statements.ts";
import type { SqliteWriter } from "./sqlite-writer.ts";

/** How many rows one step of a count or a list reads at most, about 2 ms. */
export const listStepRows = 5_000;

/** Rows of `state`, `count` and, on the pending one, `oldest` in milliseconds. */
export async function countStates(writer: SqliteWriter, nowMs: number): Promise<readonly SqlRow[]> {
  const read = async (statement: string, values: readonly number[] = []) =>
    writer.read((connection) => connection.queryPrepared(statement, values));
  const { waiting, running, oldest } = await countLiveRows(read, nowMs);
  const counts = new Map<unknown, number>([["done", -waiting]]);
  const [range] = await read(sharedStatements.seqRange);
  const last = Number(range?.["last"] ?? -1);
  for (let from = Number(range?.["first"] ?? 0); from <= last; from += listStepRows) {
    for (const { state, count } of await read(countOutcomes, [from, from + listStepRows])) {
      counts.set(state, (counts.get(state) ?? 0) + Number(count));
    }
  }
  return [
    { state: "pending", count: waiting - running, oldest },
    { state: "running", count: running },
    ...[...counts].map(([state, count]) => ({ state, count: Math.max(0, count) })),
  ];
}

type Read = (statement: string, values: readonly number[]) => Promise<readonly SqlRow[]>;

/** Waiting rows, those of them that are claimed, and how long the oldest of the others has waited. */
async function countLiveRows(read: Read, nowMs: number) {
  let [after, waiting, running] = [0, 0, 0];
  let oldest: { readonly id: number; readonly wakeAtMs: number } | undefined;
  for (;;) {
    const [page] = await read(sharedStatements.keysPage, [after, listStepRows]);
    const last = Number(page?.["last"] ?? after);
    if (last === after) break;
    const [counts] = await read(countLive, [after, last]);
    waiting += Number(counts?.["waiting"]);
    running += Number(counts?.["running"]);
    const [key] = await read(oldestKey, [after, last, nowMs]);
    const wakeAtMs = Number(key?.["wake_at"] ?? Number.POSITIVE_INFINITY);
    if (wakeAtMs < (oldest?.wakeAtMs ?? Number.POSITIVE_INFINITY))
      oldest = { id: Number(key?.["id"]), wakeAtMs };
    after = last;
  }
  const [row] = oldest ? await read(oldestWaiting, [nowMs, oldest.id]) : [];
  return { waiting, running, oldest: row?.["oldest"] ?? null };
}
