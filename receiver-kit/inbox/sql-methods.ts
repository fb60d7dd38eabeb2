// The methods of an inbox that need single statements, the same for both databases.

import type { VerifiedWebhook } from "../signature/verifier.ts";
import { tenantRange } from "../tenant-source.ts";
import type { Inbox, RowState, RowSummary } from "./inbox.ts";
import {
  failedColumns,
  type SqlRow,
  toCandidates,
  toDetails,
  toHead,
  toHeadSummary,
  toMarks,
  toStats,
  toSummary,
  toWaiting,
} from "./inbox-row.ts";
import type { SqlStatements } from "./sql-statements.ts";

export interface SqlExecutor {
  /** Returns the rows of a statement that changes nothing. */
  read(statement: string, values: readonly unknown[]): Promise<readonly SqlRow[]>;
  /** Returns how many rows a statement changed. */
  change(statement: string, values: readonly unknown[]): Promise<number>;
  /** Rows of `state`, `count` and, on the pending one, `oldest` in milliseconds. */
  countStates(): Promise<readonly SqlRow[]>;
  /** How many rows one statement reads at most to find those of a list; it may block other work. */
  readonly listStepRows: number;
  /** Stores a row begun inline, or takes over one whose lease ended; returns no row when it did neither. */
  beginInline(webhook: VerifiedWebhook, options: InlineOptions): Promise<readonly SqlRow[]>;
  /** `$1` of the statements that need the time; `null` for the server's clock. */
  now(): number | null;
  /** Called when rows of `source` may have become claimable. */
  wake(source: string): void;
}

export interface InlineOptions {
  readonly source: string;
  readonly leaseMs: number;
}

export interface SqlMethodStatements extends SqlStatements {
  readonly finishInline: string;
}

type Method =
  | ("fail" | "list" | "get" | "replay" | "discard" | "beginInline" | "finishInline")
  | ("head" | "listHeads" | "resetHead" | "readMarks" | "writeMarks" | "repairTimes")
  | ("reconcileCandidates" | "purge" | "backlog" | "stats" | "waitingSources");

export function sqlMethods(
  { read, change, now, wake, countStates, listStepRows, beginInline }: SqlExecutor,
  sql: SqlMethodStatements,
  toList: (states: readonly RowState[]) => unknown,
): Pick<Inbox, Method> {
  const changeAndWake = async (source: string, statement: string, values: readonly unknown[]) => {
    const changed = (await change(statement, values)) > 0;
    if (changed) wake(source);
    return changed;
  };
  const readRange = async () => {
    const [range] = await read(sql.seqRange, []);
    return { first: Number(range?.["first"] ?? 0), last: Number(range?.["last"] ?? -1) };
  };
  return {
    fail({ source, seq, worker, generation }, failure) {
      const { state, delayMs, error, uncounted } = failedColumns(failure);
      const values = [now(), seq, worker, generation, state, delayMs, error, uncounted];
      return changeAndWake(source, sql.failRow, values);
    },
    async list({ states, source = null, beforeSeq = null, limit = 50 }) {
      const { first, last } = await readRange();
      const found: RowSummary[] = [];
      let below = Math.min(beforeSeq ?? Number.MAX_SAFE_INTEGER, last + 1);
      while (below > first && found.length < limit) {
        const from = Math.max(first, below - listStepRows);
        const left = limit - found.length;
        const rows = await read(sql.listRows, [below, source, states ? toList(states) : null, left, from]);
        for (const row of rows) found.push(toSummary(row));
        below = from;
      }
      return found;
    },
    async get({ source, id }) {
      const [row] = await read(sql.getRow, [source, id]);
      return row && toDetails(row);
    },
    replay({ source, id }, { event, orderKey, position, status, workspaceId }) {
      const columns = [event, orderKey, position, status, workspaceId];
      return changeAndWake(source, sql.replayRow, [now(), source, id, ...columns]);
    },
    discard: async ({ source, id }) => (await change(sql.discardRow, [source, id])) > 0,
    async beginInline(webhook, inlineOptions) {
      const [begun] = await beginInline(webhook, inlineOptions);
      if (begun) return { state: "begun", generation: Number(begun["generation"]) };
      const { source, leaseMs } = inlineOptions;
      const [row] = await read(sql.inlineLease, [now(), source, webhook.id]);
      if (row?.["state"] !== "inline") return { state: "done" };
      const isAhead = Number(row["ahead"]) > 0;
      if (isAhead) await change(sql.repairInline, [now(), source, webhook.id, leaseMs]);
      return { state: "busy", retryAfterMs: isAhead ? leaseMs : Math.max(0, Number(row["ends_in"])) };
    },
    async finishInline(id, { source, generation, outcome }) {
      const state = outcome === "done" ? "done" : "inline";
      return (await change(sql.finishInline, [source, id, generation, state])) > 0;
    },
    async repairTimes({ source, retry: { firstDelayMs, delayMsMax } }) {
      const due = await change(sql.repairDueTimes, [now(), source, firstDelayMs, delayMsMax]);
      const leases = await change(sql.repairLeases, [now(), source]);
      if (due > 0) wake(source);
      return due + leases;
    },
    head: async (source, key) => toHead((await read(sql.headOf, [now(), source, key]))[0]),
    listHeads: async ({ source, keyPrefix = "", afterKey = "", limit = 50 }) =>
      (await read(sql.listHeads, [source, afterKey, keyPrefix, limit])).map(toHeadSummary),
    resetHead: async ({ source, key }) => (await change(sql.resetHead, [source, key])) > 0,
    reconcileCandidates: async ({ source, runningForMs, afterKey, limit }) =>
      toCandidates(await read(sql.reconcileCandidates, [now(), source, runningForMs, afterKey, limit])),
    async readMarks(source) {
      const rows = await read(sql.readMarks, [now(), source]);
      return { nowMs: Number(rows[0]?.["now"]), marks: toMarks(rows) };
    },
    async writeMarks(source, marks) {
      for (const [name, value] of Object.entries(marks)) await change(sql.writeMark, [source, name, value]);
    },
    async purge({ bodiesMs, rowsMs, headsMs, unhandledBodiesMs, asOfMs = null }, rowsMax) {
      const purged = (statement: string, afterMs: number) =>
        change(statement, [now(), afterMs, rowsMax, asOfMs]);
      const bodies = await purged(sql.purgeBodies, Math.min(bodiesMs, rowsMs));
      const unhandled = await purged(sql.purgeUnhandledBodies, unhandledBodiesMs);
      const rows = await purged(sql.purgeRows, rowsMs);
      return rows + bodies + unhandled + (await purged(sql.purgeHeads, headsMs));
    },
    async waitingSources(source) {
      const { from, to } = tenantRange(source);
      return (await read(sql.waitingSources, [now(), source, from, to])).map(toWaiting);
    },
    async backlog(source, limit) {
      const [row] = await read(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    },
    stats: async () => toStats(await countStates(), (await read(sql.newestRow, [now()]))[0]),
  };
}
