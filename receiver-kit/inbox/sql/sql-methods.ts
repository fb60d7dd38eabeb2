// The methods of an inbox that are not about many rows at once, the same for both databases.

import { tenantRange } from "../../signature/tenant.ts";
import type * as inbox from "../inbox.ts";
import { failedEnd, type RowEnd, type RowEndResult, settledEnd, settleOutcome } from "../row-end.ts";
import { countStates, type SqlReader } from "./count-states.ts";
import * as inboxRow from "./inbox-row.ts";
import type { SqlStatements } from "./sql-statements.ts";

/** Statements of one transaction: each is executed, and gets its rows, before the next one is asked for. */
export type Steps<Result> = Generator<
  readonly [statement: string, values: readonly unknown[]],
  Result,
  readonly inboxRow.SqlRow[]
>;

export interface SqlExecutor extends SqlReader {
  /** Executes the steps, or none of them. They may begin again. */
  write<Result>(steps: () => Steps<Result>, isLarge?: boolean): Promise<Result>;
  insertRow(row: inbox.NewInboxRow): Promise<inbox.InboxInsertResult>;
  endRow(end: RowEnd): Promise<RowEndResult | undefined>;
  /** Called when rows of `source` may have become claimable. */
  wake(source: string): void;
}

const isUnhandledState = (state: inbox.InboxRowState) => state === "dead" || state === "quarantined";

/** How many keys one statement reads at most. */
const pageKeys = 5_000;

export function sqlMethods(
  executor: SqlExecutor,
  sql: SqlStatements,
  toList: (states: readonly inbox.InboxRowState[]) => unknown,
) {
  const { read, write, now, wake, stepRows } = executor;
  /** Returns how many rows a statement changed, if it has RETURNING. */
  const change = (statement: string, values: readonly unknown[], isLarge?: boolean) =>
    write(function* (): Steps<number> {
      return (yield [statement, values]).length;
    }, isLarge);
  const endRow = async (requested: RowEnd) => {
    const ended = await executor.endRow(requested);
    if (ended?.hasMore) wake(requested.claim.source);
    return ended;
  };
  const readRange = async () => {
    const [range] = await read(sql.seqRange, []);
    return { first: Number(range?.["first"] ?? 0), last: Number(range?.["last"] ?? -1) };
  };
  /** Number of the first row that is too young, by bisection: the times of receipt need no index. */
  const findBoundary = async (afterMs: number, asOfMs: number | null) => {
    const { first, last } = await readRange();
    let [expired, young] = [first - 1, last + 1];
    while (young - expired > 1) {
      const middle = Math.floor((expired + young) / 2);
      const [row] = await read(sql.rowFrom, [now(), afterMs, middle, asOfMs]);
      if (row && inboxRow.toBoolean(row["is_expired"])) expired = Number(row["seq"]);
      else young = middle;
    }
    return young;
  };
  let purgedTo = 0;
  /** In pages; the next call continues where this one ends. */
  const purgeHeads = async (afterMs: number, asOfMs: number | null, headsMax: number) => {
    let changed = 0;
    while (changed < headsMax) {
      const [page] = await read(sql.keysPage, [purgedTo, pageKeys]);
      const last = inboxRow.toNumber(page?.["last"]);
      if (last !== null) {
        const values = [now(), afterMs, headsMax - changed, asOfMs, purgedTo, last];
        changed += await change(sql.purgeHeads, values, true);
      }
      // A page of which heads may be left is read again.
      if (changed < headsMax) purgedTo = last ?? 0;
      if (last === null) break;
    }
    return changed;
  };
  const head: inbox.InboxStore["head"] = async (source, key) =>
    inboxRow.toHead((await read(sql.headOf, [now(), source, key]))[0]);
  return {
    head,
    async insert(row) {
      const result = await executor.insertRow(row);
      if (result.outcome === "new") wake(row.source);
      return result;
    },
    /** Settles a row whose handlers used no transaction, together with others. */
    async settle(
      claim: inbox.InboxClaim,
      settlement: inbox.InboxSettlement,
    ): Promise<inbox.InboxSettleOutcome> {
      const requested = settledEnd(claim, settlement);
      return settleOutcome(requested, await endRow(requested));
    },
    fail: async (claim, failure) => (await endRow(failedEnd(claim, failure))) !== undefined,
    async replay({ source, id }, { event, orderKey, position, status, workspaceId }) {
      const key = orderKey ?? `id:${id}`;
      const isReplayed = await write(function* (): Steps<boolean> {
        // So that it is not purged or replayed by another one meanwhile.
        yield [sql.lockDelivery, [source, id]];
        const [found] = yield [sql.findReplayable, [source, id]];
        if (!found) return false;
        const seq = Number(found["seq"]);
        yield [sql.replayDelivery, [now(), seq, event, orderKey, position, status, workspaceId]];
        yield [sql.queueKey, [now(), source, key, workspaceId]];
        yield [sql.queueRow, [source, key, position ?? "", seq, Number(found["body_bytes"])]];
        return true;
      });
      if (isReplayed) wake(source);
      return isReplayed;
    },
    async advanceHead({ source, key, position }) {
      if ((await change(sql.advanceHead, [now(), source, key, position])) > 0) return "newer";
      return (await head(source, key))?.position === position ? "same" : "stale";
    },
    async list({ states, source = null, beforeSeq = null, limit = 50 }) {
      if (states?.every(isUnhandledState)) {
        const values = [beforeSeq ?? Number.MAX_SAFE_INTEGER, source, toList(states), limit];
        return (await read(sql.listUnhandled, values, true)).map(inboxRow.toSummary);
      }
      const { first, last } = await readRange();
      const found: inbox.InboxRowSummary[] = [];
      let below = Math.min(beforeSeq ?? Number.MAX_SAFE_INTEGER, last + 1);
      while (below > first && found.length < limit) {
        const from = Math.max(first, below - stepRows);
        const left = limit - found.length;
        const values = [below, source, states ? toList(states) : null, left, from];
        const rows = await read(sql.listRows, values, true);
        for (const row of rows) found.push(inboxRow.toSummary(row));
        below = from;
      }
      return found;
    },
    async get({ source, id }) {
      const [row] = await read(sql.getRow, [source, id]);
      return row && inboxRow.toDetails(row);
    },
    discard: async ({ source, id }) => (await change(sql.discardRow, [source, id])) > 0,
    async beginInline({ id, timestamp, body }, { source, leaseMs }) {
      return write(function* (): Steps<inbox.InboxBeginInlineResult> {
        const [begun] = yield [sql.beginInline, [now(), source, id, timestamp, leaseMs]];
        if (begun) {
          yield [sql.insertBody, [Number(begun["seq"]), body]];
          return { state: "begun", generation: Number(begun["generation"]) };
        }
        const [row] = yield [sql.inlineLease, [now(), source, id]];
        if (row?.["state"] !== "inline") return { state: "done" };
        const isAhead = Number(row["ahead"]) > 0;
        if (isAhead) yield [sql.repairInline, [now(), source, id, leaseMs]];
        return { state: "busy", retryAfterMs: isAhead ? leaseMs : Math.max(0, Number(row["ends_in"])) };
      });
    },
    async finishInline(id, { source, generation, outcome }) {
      const recorded = outcome === "done" ? null : "inline";
      return (await change(sql.finishInline, [source, id, generation, recorded])) > 0;
    },
    reconcileCandidates: async ({ source, runningForMs, afterKey, limit }) =>
      inboxRow.toCandidates(
        await read(sql.reconcileCandidates, [now(), source, runningForMs, afterKey, limit], true),
      ),
    async readMarks(source) {
      const rows = await read(sql.readMarks, [now(), source]);
      return { nowMs: Number(rows[0]?.["now"]), marks: inboxRow.toMarks(rows) };
    },
    async writeMarks(source, marks) {
      for (const [name, value] of Object.entries(marks)) await change(sql.writeMark, [source, name, value]);
    },
    async purge({ bodiesMs, rowsMs, headsMs, unhandledBodiesMs, asOfMs = null }, rowsMax) {
      const purged = async (statement: string, afterMs: number) => {
        const boundary = await findBoundary(afterMs, asOfMs);
        return change(statement, [now(), afterMs, rowsMax, asOfMs, boundary], true);
      };
      const bodies = await purged(sql.purgeBodies, Math.min(bodiesMs, rowsMs));
      const unhandled = await purged(sql.purgeUnhandledBodies, unhandledBodiesMs);
      const rows = await purged(sql.purgeRows, rowsMs);
      return rows + bodies + unhandled + (await purgeHeads(headsMs, asOfMs, rowsMax));
    },
    async waitingSources(source) {
      const { from, to } = tenantRange(source);
      const rows = await read(sql.waitingSources, [now(), source, from, to]);
      const waiting = rows.filter((row) => row["source"] !== null);
      return waiting.map((row) => ({ source: String(row["source"]), dueInMs: Number(row["due_in"]) }));
    },
    async backlog(source, limit) {
      const [row] = await read(sql.countBacklog, [source, limit]);
      return Math.min(limit, Number(row?.["count"]));
    },
    stats: async () =>
      inboxRow.toStats(await countStates(executor, sql), (await read(sql.newestRow, [now()]))[0]),
  } satisfies Partial<inbox.InboxStore> & Record<"settle", unknown>;
}
