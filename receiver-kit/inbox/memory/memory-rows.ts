import type { EventColumns } from "../../event/event-columns.ts";
import type {
  Channel,
  ClaimOptions,
  InboxStats,
  KeyOrder,
  NewRow,
  Retention,
  RowDetails,
  RowFilter,
  RowReference,
  RowState,
  RowSummary,
} from "../inbox.ts";
import { rowStates } from "../inbox.ts";

export type MemoryRow = {
  readonly seq: number;
  readonly source: string;
  readonly id: string;
  readonly channel: Channel;
  readonly timestamp: number;
  readonly receivedAtMs: number;
  columns: EventColumns;
  body: Uint8Array | null;
  state: RowState;
  dueAtMs: number;
  leaseUntilMs: number;
  worker: string;
  generation: number;
  attempts: number;
  replays: number;
  lastError: string | null;
};

/** The rows of the memory inbox, and which of them may be claimed. */
export class MemoryRows {
  readonly #rows = new Map<string, MemoryRow>();
  /** The pending and the running ones, so that settled rows cost a claim nothing. */
  readonly #open = new Set<MemoryRow>();
  readonly #rowsMax: number;
  #lastSeq = 0;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  get({ source, id }: RowReference): MemoryRow | undefined {
    return this.#rows.get(JSON.stringify([source, id]));
  }

  all(): Iterable<MemoryRow> {
    return this.#rows.values();
  }

  openCount(source: string): number {
    return this.#openOf(source).length;
  }

  running(source: string): readonly MemoryRow[] {
    return this.#openOf(source).filter((row) => row.state === "running");
  }

  #openOf(source: string): MemoryRow[] {
    return [...this.#open].filter((row) => row.source === source);
  }

  add(newRow: NewRow, state: RowState, nowMs: number): MemoryRow {
    if (this.#rows.size >= this.#rowsMax) {
      throw new Error(`memory inbox: full, expected at most ${this.#rowsMax} rows`);
    }
    const { source, id, channel, timestamp, event, orderKey, position, status } = newRow;
    const row: MemoryRow = {
      ...{ seq: ++this.#lastSeq, source, id, channel, timestamp, receivedAtMs: nowMs, state, dueAtMs: nowMs },
      ...{ leaseUntilMs: 0, worker: "", generation: 0, attempts: 0, replays: 0 },
      columns: { event, orderKey, position, status },
      body: Uint8Array.from(newRow.body),
      lastError: newRow.quarantine,
    };
    this.#rows.set(JSON.stringify([source, id]), row);
    this.move(row, state);
    return row;
  }

  move(row: MemoryRow, state: RowState): void {
    row.state = state;
    if (state === "pending" || state === "running") this.#open.add(row);
    else this.#open.delete(row);
  }

  /** Due rows that are first in their key, while no other row of the key runs; in the order they fell due. */
  claimable(nowMs: number, { source, keyOrder, rowsMax }: ClaimOptions): readonly MemoryRow[] {
    const { busy, first } = this.#lanes(nowMs, keyOrder);
    const free = (row: MemoryRow) => {
      const lane = laneOf(row);
      return lane === undefined || (!busy.has(lane) && first.get(lane) === row);
    };
    return this.#openOf(source)
      .filter((row) => row.state === "pending" && row.dueAtMs <= nowMs && free(row))
      .sort((a, b) => a.dueAtMs - b.dueAtMs || a.seq - b.seq)
      .slice(0, rowsMax);
  }

  #lanes(nowMs: number, keyOrder: KeyOrder) {
    const busy = new Set<string>();
    const first = new Map<string, MemoryRow>();
    for (const row of this.#open) {
      const lane = laneOf(row);
      if (lane === undefined) continue;
      if (row.state === "running") busy.add(lane);
      else if (keyOrder === "strict" || row.dueAtMs <= nowMs) {
        const best = first.get(lane);
        if (!best || before(row, best)) first.set(lane, row);
      }
    }
    return { busy, first };
  }

  nextInMs(source: string, nowMs: number): number | null {
    let next = Number.POSITIVE_INFINITY;
    for (const row of this.#openOf(source)) {
      const at = row.state === "running" ? row.leaseUntilMs : row.dueAtMs;
      if (at > nowMs) next = Math.min(next, at);
    }
    return next === Number.POSITIVE_INFINITY ? null : next - nowMs;
  }

  list({
    states,
    source,
    beforeSeq = Number.POSITIVE_INFINITY,
    limit = 50,
  }: RowFilter): readonly RowSummary[] {
    return [...this.#rows.values()]
      .reverse()
      .filter((row) => (!states || states.includes(row.state)) && (source ?? row.source) === row.source)
      .filter((row) => row.seq < beforeSeq)
      .slice(0, limit)
      .map(toSummary);
  }

  /** Answers how many rows it touched. */
  purge({ bodiesMs, rowsMs }: Retention, rowsMax: number, nowMs: number): number {
    let touched = 0;
    for (const [name, row] of this.#rows) {
      if (touched >= rowsMax) break;
      if (!settledStates.has(row.state)) continue;
      if (row.receivedAtMs <= nowMs - rowsMs) this.#rows.delete(name);
      else if (row.body && row.state !== "inline" && row.receivedAtMs <= nowMs - bodiesMs) row.body = null;
      else continue;
      touched += 1;
    }
    return touched;
  }

  stats(nowMs: number): InboxStats {
    const rows = Object.fromEntries(rowStates.map((state) => [state, 0])) as Record<RowState, number>;
    let oldestPendingMs: number | null = null;
    for (const row of this.#rows.values()) {
      rows[row.state] += 1;
      if (row.state !== "pending" || row.dueAtMs > nowMs) continue;
      oldestPendingMs = Math.max(oldestPendingMs ?? 0, nowMs - row.receivedAtMs);
    }
    return { rows, oldestPendingMs };
  }
}

/** States that retention may remove; dead and quarantined rows wait for somebody. */
const settledStates: ReadonlySet<RowState> = new Set(["done", "stale", "discarded", "inline"]);

/** Rows of one lane never run side by side. */
function laneOf(row: MemoryRow): string | undefined {
  return row.columns.orderKey === null ? undefined : JSON.stringify([row.source, row.columns.orderKey]);
}

function before(a: MemoryRow, b: MemoryRow): boolean {
  const [left, right] = [a.columns.position ?? "", b.columns.position ?? ""];
  return left === right ? a.seq < b.seq : left < right;
}

export function toSummary(row: MemoryRow): RowSummary {
  const { seq, source, id, channel, state, timestamp, receivedAtMs, dueAtMs, attempts, replays } = row;
  return {
    ...{ seq, source, id, channel, state, timestamp, receivedAtMs, dueAtMs, attempts, replays },
    ...row.columns,
    lastError: row.lastError,
    bodyBytes: row.body?.byteLength ?? null,
  };
}

export function toDetails(row: MemoryRow): RowDetails {
  return { ...toSummary(row), body: row.body };
}
