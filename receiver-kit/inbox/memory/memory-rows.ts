import { ReceiverError } from "../../errors.ts";
import { includesSource } from "../../tenant-source.ts";
import type {
  Claim,
  ClaimOptions,
  InboxStats,
  KeyLease,
  NewRow,
  Retention,
  RetryDelays,
  RowDetails,
  RowFilter,
  RowReference,
  RowState,
  RowSummary,
  WaitingSource,
} from "../inbox.ts";
import { emptyStates } from "../inbox-row.ts";

interface RowFields extends Omit<RowDetails, "bodyBytes"> {
  /** Of a claimed row. */
  readonly lease: KeyLease | null;
  readonly leaseUntilMs: number;
  /** Of an inline row, or the last lease of its key. */
  readonly generation: number;
  /** Its lease expired: it is claimed alone, so that a row that ends its process is found. */
  readonly isSuspect: boolean;
}

export type MemoryRow = { -readonly [Name in keyof RowFields]: RowFields[Name] };

/** The rows of the memory inbox, and which of them may be claimed. */
export class MemoryRows {
  readonly #rows = new Map<string, MemoryRow>();
  /** The pending and the running ones, so that claims need not search the settled rows. */
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

  open(): readonly MemoryRow[] {
    return [...this.#open];
  }

  /** Another row of its key waits. */
  hasWaiting(row: MemoryRow): boolean {
    return [...this.#open].some((other) => other.source === row.source && keyOf(other) === keyOf(row));
  }

  openCount(source: string): number {
    return this.#openOf(source).length;
  }

  running(source: string): readonly MemoryRow[] {
    return this.#openOf(source).filter((row) => row.state === "running");
  }

  leased({ worker, generation }: KeyLease): readonly MemoryRow[] {
    return [...this.#open].filter(({ lease }) => lease?.worker === worker && lease.generation === generation);
  }

  #openOf(source: string): MemoryRow[] {
    return [...this.#open].filter((row) => row.source === source);
  }

  add({ quarantine, ...newRow }: NewRow, state: RowState, nowMs: number): MemoryRow {
    if (this.#rows.size >= this.#rowsMax) {
      throw new ReceiverError("INBOX_FULL", `memory inbox: full, expected at most ${this.#rowsMax} rows`);
    }
    const row: MemoryRow = {
      ...newRow,
      ...{ seq: ++this.#lastSeq, state, receivedAtMs: nowMs, dueAtMs: nowMs, leaseUntilMs: 0 },
      ...{ lease: null, generation: 0, isSuspect: false, attempts: 0, replays: 0, lastError: quarantine },
      body: Uint8Array.from(newRow.body),
    };
    this.#rows.set(JSON.stringify([row.source, row.id]), row);
    this.move(row, state);
    return row;
  }

  move(row: MemoryRow, state: RowState): void {
    row.state = state;
    if (state !== "running") row.lease = null;
    if (state === "pending" || state === "running") this.#open.add(row);
    else this.#open.delete(row);
  }

  /** Rows of `source` that were made due, or claimed, in the future: the clock was set back since. Repairs their times. */
  repairTimes(source: string, { firstDelayMs, delayMsMax }: RetryDelays, nowMs: number): number {
    const retryMs = ({ attempts }: MemoryRow) =>
      attempts === 0 ? 0 : 1.2 * Math.min(delayMsMax, firstDelayMs * 2 ** (attempts - 1)) + 1;
    const wrong = this.#openOf(source).filter(
      (row) => row.dueAtMs > nowMs + (row.state === "pending" ? retryMs(row) : 0),
    );
    for (const row of wrong) {
      row.leaseUntilMs = nowMs + (row.leaseUntilMs - row.dueAtMs);
      row.dueAtMs = nowMs;
    }
    return wrong.length;
  }

  /** The first due rows of each key of which none runs; the keys in the order of their due times. */
  claimable(nowMs: number, options: ClaimOptions): readonly (readonly MemoryRow[])[] {
    const keys = new Map<string, MemoryRow[]>();
    for (const row of this.#openOf(options.source)) {
      const rows = keys.get(keyOf(row));
      if (rows) rows.push(row);
      else keys.set(keyOf(row), [row]);
    }
    const chains = [...keys.values()]
      .map((rows) => firstDue(rows, nowMs, options))
      .filter((rows) => rows.length > 0);
    return chains.sort(([a], [b]) => (a && b ? a.dueAtMs - b.dueAtMs || a.seq - b.seq : 0));
  }

  waitingSources(source: string, nowMs: number): readonly WaitingSource[] {
    const earliest = new Map<string, number>();
    for (const row of this.#open) {
      if (!includesSource(source, row.source)) continue;
      const at = row.state === "running" ? row.leaseUntilMs : row.dueAtMs;
      earliest.set(row.source, Math.min(at, earliest.get(row.source) ?? at));
    }
    return [...earliest.keys()]
      .sort((a, b) => (a < b ? -1 : 1))
      .map((name) => ({ source: name, dueInMs: Number(earliest.get(name)) - nowMs }));
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

  /** Returns how many rows it changed. */
  purge({ bodiesMs, rowsMs, unhandledBodiesMs }: Retention, rowsMax: number, nowMs: number): number {
    let changed = 0;
    for (const [name, row] of this.#rows) {
      if (changed >= rowsMax) break;
      const isSettled = settledStates.has(row.state);
      const bodyMs = isSettled ? bodiesMs : unhandledBodiesMs;
      const hasBody = row.body !== null && !["pending", "running", "inline"].includes(row.state);
      // A row that was replayed is as old as its last attempt.
      const atMs = row.replays > 0 ? Math.max(row.receivedAtMs, row.dueAtMs) : row.receivedAtMs;
      if (isSettled && atMs <= nowMs - rowsMs) this.#rows.delete(name);
      else if (hasBody && atMs <= nowMs - bodyMs) row.body = null;
      else continue;
      changed += 1;
    }
    return changed;
  }

  stats(nowMs: number): InboxStats {
    const rows = emptyStates();
    let oldestPendingMs: number | null = null;
    for (const row of this.#rows.values()) {
      rows[row.state] += 1;
      if (row.state !== "pending" || row.dueAtMs > nowMs) continue;
      oldestPendingMs = Math.max(oldestPendingMs ?? 0, nowMs - row.receivedAtMs);
    }
    const newest = [...this.#rows.values()].at(-1);
    return { rows, oldestPendingMs, storedAheadMs: Math.max(0, (newest?.receivedAtMs ?? nowMs) - nowMs) };
  }
}

/** States whose rows retention may remove; dead and quarantined rows wait for an operator, without their bodies. */
const settledStates: ReadonlySet<RowState> = new Set(["done", "stale", "discarded", "inline"]);

/** A row without a key is a key of its own. */
const keyOf = ({ orderKey, id }: MemoryRow): string => orderKey ?? `id:${id}`;

function firstDue(
  rows: readonly MemoryRow[],
  nowMs: number,
  { keyOrder, rowsPerKeyMax }: ClaimOptions,
): readonly MemoryRow[] {
  if (rows.some(({ state }) => state === "running")) return [];
  const isDue = ({ dueAtMs }: MemoryRow) => dueAtMs <= nowMs;
  const sorted = rows.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
  const notDue = sorted.findIndex((row) => !isDue(row));
  const due =
    keyOrder === "latest" ? sorted.filter(isDue) : sorted.slice(0, notDue < 0 ? sorted.length : notDue);
  return due.slice(0, due[0]?.isSuspect ? 1 : rowsPerKeyMax);
}

export function isBefore(a: MemoryRow, b: MemoryRow): boolean {
  const [left, right] = [a.position ?? "", b.position ?? ""];
  return left === right ? a.seq < b.seq : left < right;
}

function toSummary({ body, lease, generation, leaseUntilMs, isSuspect, ...row }: MemoryRow): RowSummary {
  return { ...row, bodyBytes: body?.byteLength ?? null };
}

export function toDetails(row: MemoryRow): RowDetails {
  return { ...toSummary(row), body: row.body };
}

export function toClaim(
  { state, dueAtMs, lastError, leaseUntilMs, generation, isSuspect, ...row }: MemoryRow,
  lease: KeyLease,
  head: string | null,
): Claim {
  return { ...row, body: row.body ?? new Uint8Array(), lease, head };
}
