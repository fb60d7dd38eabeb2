// The methods of an inbox that need single statements, the same for both databases.

import type { Inbox, RowState } from "./inbox.ts";
import {
  failedColumns,
  type SqlRow,
  toCandidates,
  toDetails,
  toHead,
  toStats,
  toSummary,
} from "./inbox-row.ts";
import type { SqlStatements } from "./sql-statements.ts";

export interface SqlExecutor {
  /** Returns the rows of a statement that changes nothing. */
  read(statement: string, values: readonly unknown[]): Promise<readonly SqlRow[]>;
  /** Returns the rows of a statement that changes something. */
  write(statement: string, values: readonly unknown[]): Promise<readonly SqlRow[]>;
  /** Returns how many rows a statement changed. */
  change(statement: string, values: readonly unknown[]): Promise<number>;
  /** `$1` of the statements that need the time; `null` for the server's clock. */
  now(): number | null;
  /** Called when rows of `source` may have become claimable. */
  wake(source: string): void;
}

export interface SqlMethodStatements extends SqlStatements {
  readonly beginInline: string;
  readonly finishInline: string;
}

type Method =
  | ("fail" | "list" | "get" | "replay" | "discard" | "beginInline" | "finishInline")
  | ("head" | "reconcileCandidates" | "purge" | "backlog" | "stats");

export function sqlMethods(
  { read, write, change, now, wake }: SqlExecutor,
  sql: SqlMethodStatements,
  toList: (states: readonly RowState[]) => unknown,
): Pick<Inbox, Method> {
  const changeAndWake = async (source: string, statement: string, values: readonly unknown[]) => {
    const changed = (await change(statement, values)) > 0;
    if (changed) wake(source);
    return changed;
  };
  return {
    fail({ source, seq, worker, generation }, failure) {
      const { state, delayMs, error, uncounted } = failedColumns(failure);
      const values = [now(), seq, worker, generation, state, delayMs, error, uncounted];
      return changeAndWake(source, sql.failRow, values);
    },
    async list({ states, source = null, beforeSeq = null, limit = 50 }) {
      const rows = await read(sql.listRows, [beforeSeq, source, states ? toList(states) : null, limit]);
      return rows.map(toSummary);
    },
    async get({ source, id }) {
      const [row] = await read(sql.getRow, [source, id]);
      return row && toDetails(row);
    },
    replay: ({ source, id }, { event, orderKey, position, status }) =>
      changeAndWake(source, sql.replayRow, [now(), source, id, event, orderKey, position, status]),
    discard: async ({ source, id }) => (await change(sql.discardRow, [source, id])) > 0,
    async beginInline({ id, timestamp, body }, { source, leaseMs }) {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const [begun] = await write(sql.beginInline, [now(), source, id, timestamp, leaseMs, bytes]);
      if (begun) return { state: "begun", generation: Number(begun["generation"]) };
      const [row] = await read(sql.inlineLease, [now(), source, id]);
      if (row?.["state"] !== "inline") return { state: "done" };
      return { state: "busy", retryAfterMs: Math.max(0, Number(row["ends_in"])) };
    },
    async finishInline(id, { source, generation, outcome }) {
      const state = outcome === "done" ? "done" : "inline";
      return (await change(sql.finishInline, [source, id, generation, state])) > 0;
    },
    head: async (source, key) => toHead((await read(sql.headPosition, [source, key]))[0]),
    reconcileCandidates: async ({ source, runningForMs, limit }) =>
      toCandidates(await read(sql.reconcileCandidates, [now(), source, runningForMs, limit * 3]), limit),
    async purge({ bodiesMs, rowsMs, headsMs }, rowsMax) {
      const rows = await change(sql.purgeRows, [now(), rowsMs, rowsMax]);
      const bodies = await change(sql.purgeBodies, [now(), bodiesMs, rowsMax]);
      return rows + bodies + (await change(sql.purgeHeads, [now(), headsMs, rowsMax]));
    },
    async backlog(source, limit) {
      const [row] = await read(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    },
    stats: async () => toStats(await read(sql.countStates, [now()])),
  };
}
