import { ReceiverError } from "../../errors.ts";
import type * as inbox from "../inbox.ts";
import { emptyStates } from "../sql/inbox-row.ts";

interface RowFields extends Omit<inbox.InboxRowDetails, "bodyBytes"> {
  /** 0 until the first failure: a clock that is set cannot delay the row. */
  readonly dueAtMs: number;
  /** Those that have ended. */
  readonly attempts: number;
  readonly replayedAtMs: number | null;
  readonly inlineLease: InlineLease;
}

export type MemoryRow = { -readonly [Name in keyof RowFields]: RowFields[Name] };

/** Of a row that a request applies. */
interface InlineLease {
  readonly generation: number;
  readonly grantedAtMs: number;
  readonly untilMs: number;
}

const noLease: InlineLease = { generation: 0, grantedAtMs: 0, untilMs: 0 };

/** The deliveries of the memory inbox. */
export class MemoryRows {
  readonly #rows = new Map<string, MemoryRow>();
  readonly #rowsMax: number;
  #lastSeq = 0;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  get({ source, id }: inbox.InboxRowReference): MemoryRow | undefined {
    return this.#rows.get(JSON.stringify([source, id]));
  }

  all(): Iterable<MemoryRow> {
    return this.#rows.values();
  }

  add({ quarantine, ...newRow }: inbox.NewInboxRow, state: inbox.InboxRowState, nowMs: number): MemoryRow {
    if (this.#rows.size >= this.#rowsMax) {
      throw new ReceiverError("INBOX_FULL", `memory inbox: full, expected at most ${this.#rowsMax} rows`);
    }
    const row: MemoryRow = {
      ...newRow,
      ...{ seq: ++this.#lastSeq, state, receivedAtMs: nowMs, replayedAtMs: null, dueAtMs: 0 },
      ...{ attempts: 0, replays: 0, lastError: quarantine, inlineLease: noLease },
      body: new Uint8Array(newRow.body),
    };
    this.#rows.set(JSON.stringify([row.source, row.id]), row);
    return row;
  }

  list({
    states,
    source,
    beforeSeq = Number.POSITIVE_INFINITY,
    limit = 50,
  }: inbox.InboxRowFilter): readonly inbox.InboxRowSummary[] {
    return [...this.#rows.values()]
      .reverse()
      .filter((row) => (!states || states.includes(row.state)) && (source ?? row.source) === row.source)
      .filter((row) => row.seq < beforeSeq)
      .slice(0, limit)
      .map(toSummary);
  }

  /** Returns how many rows it changed. */
  purge(
    { bodiesMs, rowsMs, unhandledBodiesMs }: inbox.InboxRetention,
    rowsMax: number,
    nowMs: number,
  ): number {
    let changed = 0;
    for (const [name, row] of this.#rows) {
      if (changed >= rowsMax) break;
      if (row.state === "pending" || row.state === "running") continue;
      const isSettled = settledStates.has(row.state);
      const bodyMs = isSettled ? bodiesMs : unhandledBodiesMs;
      if (isSettled && storedAtMs(row) <= nowMs - rowsMs) this.#rows.delete(name);
      else if (row.body && storedAtMs(row) <= nowMs - bodyMs) row.body = null;
      else continue;
      changed += 1;
    }
    return changed;
  }

  stats(nowMs: number): inbox.InboxStats {
    const rows = emptyStates();
    let oldestPendingMs: number | null = null;
    let newestAtMs = nowMs;
    for (const row of this.#rows.values()) {
      rows[row.state] += 1;
      newestAtMs = row.receivedAtMs;
      if (row.state !== "pending" || dueAtMs(row) > nowMs) continue;
      oldestPendingMs = Math.max(oldestPendingMs ?? 0, nowMs - storedAtMs(row));
    }
    return { rows, oldestPendingMs, storedAheadMs: Math.max(0, newestAtMs - nowMs) };
  }
}

/** States whose rows retention may remove; dead and quarantined rows wait for an operator, without their bodies. */
const settledStates: ReadonlySet<inbox.InboxRowState> = new Set(["done", "stale", "discarded", "inline"]);

/** A row that was replayed is as old as its replay. */
const storedAtMs = ({ replayedAtMs, receivedAtMs }: MemoryRow): number => replayedAtMs ?? receivedAtMs;

const dueAtMs = (row: MemoryRow): number => row.dueAtMs || storedAtMs(row);

function toSummary(row: MemoryRow): inbox.InboxRowSummary {
  const { body, replayedAtMs, inlineLease, ...columns } = row;
  const attempts = row.attempts + (row.state === "running" ? 1 : 0);
  return { ...columns, attempts, dueAtMs: dueAtMs(row), bodyBytes: body?.byteLength ?? null };
}

export function toDetails(row: MemoryRow): inbox.InboxRowDetails {
  return { ...toSummary(row), body: row.body };
}

export function toClaim(
  { state, dueAtMs, lastError, replayedAtMs, inlineLease, ...row }: MemoryRow,
  lease: inbox.InboxLease,
  head: string | null,
): inbox.InboxClaim {
  return { ...row, attempts: row.attempts + 1, body: row.body ?? new Uint8Array(), lease, head };
}
