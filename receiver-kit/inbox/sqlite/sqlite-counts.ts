// SQLite counts by reading, and a read blocks the event loop. Settled rows are most of a large inbox, so they are counted
// in steps, between which deliveries are stored. Each step continues after the last row of the one before: rows that
// are settled or purged meanwhile may or may not be counted.

import type { SqlRow } from "../inbox-row.ts";
import type { SqliteConnection } from "./sqlite-driver.ts";
import { countSettled, countUnsettled, settledStep } from "./sqlite-statements.ts";
import type { SqliteWriter } from "./sqlite-writer.ts";

/** How many rows one step of a count or a list reads at most, about 2 ms. */
export const listStepRows = 5_000;

const settledStates = ["done", "stale", "discarded", "inline"] as const;

/** Rows of `state`, `count` and, on the pending one, `oldest` in milliseconds. */
export async function countStates(writer: SqliteWriter, nowMs: number): Promise<readonly SqlRow[]> {
  const counts: SqlRow[] = [
    ...(await writer.read((connection) => connection.queryPrepared(countUnsettled, [nowMs]))),
  ];
  for (const state of settledStates) counts.push({ state, count: await countInSteps(writer, state) });
  return counts;
}

async function countInSteps(writer: SqliteWriter, state: string): Promise<number> {
  let counted = 0;
  let after: readonly [receivedAt: number, seq: number] = [Number.MIN_SAFE_INTEGER, 0];
  for (;;) {
    const step = await writer.read((connection) => countStep(connection, [state, ...after]));
    counted += step.count;
    if (!step.last) return counted;
    after = step.last;
  }
}

function countStep(connection: SqliteConnection, after: readonly [string, number, number]) {
  const [last] = connection.queryPrepared(settledStep, [...after, listStepRows]);
  if (last) {
    return { count: listStepRows, last: [Number(last["received_at"]), Number(last["seq"])] as const };
  }
  const [rest] = connection.queryPrepared(countSettled, after);
  return { count: Number(rest?.["count"]), last: undefined };
}
