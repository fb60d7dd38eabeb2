import { type Clock, systemClock } from "../../clock.ts";
import { TransactionEndedError } from "../../errors.ts";
import type { EventColumns } from "../../event/event-columns.ts";
import { emptyColumns } from "../../event/event-columns.ts";
import type { VerifiedWebhook } from "../../signature/verifier.ts";
import type {
  Claim,
  ClaimOptions,
  ClaimResult,
  FailedAttempt,
  HandlerTransaction,
  Inbox,
  InsertResult,
  NewRow,
  ReconcileCandidate,
  Retention,
  RowFilter,
  RowReference,
  RowState,
  Settlement,
  SettleOutcome,
} from "../inbox.ts";
import { MemoryHeads } from "./memory-heads.ts";
import { type MemoryRow, MemoryRows, toDetails } from "./memory-rows.ts";

export type MemoryInboxOptions = {
  readonly clock?: Clock;
  /** Rows kept at most, settled ones included; beyond, storing fails rather than forgetting an id. Default 100,000. */
  readonly rowsMax?: number;
};

/** What handlers see as `context.transaction` with the memory inbox. */
export interface MemoryTransaction {
  /** Runs `change` at the moment the event counts as handled, or never. It must not throw. */
  apply(change: () => void): void;
}

/**
 * An inbox for tests, demonstrations and simulations: the same promises as the others, except that nothing outlives
 * the process. Closing it keeps its rows, so that a test can "restart" a receiver on the same inbox.
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox<MemoryTransaction> {
  return new MemoryInbox(options.clock ?? systemClock, options.rowsMax ?? 100_000);
}

class MemoryInbox implements Inbox<MemoryTransaction> {
  readonly durable = false;
  readonly #clock: Clock;
  readonly #rows: MemoryRows;
  readonly #heads = new MemoryHeads();
  readonly #beats = new Map<string, number>();
  readonly #wakers = new Set<() => void>();

  constructor(clock: Clock, rowsMax: number) {
    this.#clock = clock;
    this.#rows = new MemoryRows(rowsMax);
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  async insert(newRow: NewRow): Promise<InsertResult> {
    const first = this.#rows.get(newRow);
    if (first) {
      return { outcome: "duplicate", sameBody: first.body && Buffer.compare(first.body, newRow.body) === 0 };
    }
    this.#rows.add(newRow, newRow.quarantine === null ? "pending" : "quarantined", this.#clock.now());
    this.#wakeAll();
    return { outcome: "new" };
  }

  async claim(options: ClaimOptions): Promise<ClaimResult> {
    const now = this.#clock.now();
    const died = this.#reclaimExpired(now, options);
    const chosen = this.#rows.claimable(now, options);
    for (const row of chosen) {
      this.#rows.move(row, "running");
      row.worker = options.worker;
      row.generation += 1;
      row.attempts += 1;
      row.leaseUntilMs = now + options.leaseMs;
    }
    return {
      claims: chosen.map((row) => this.#toClaim(row)),
      died,
      nextInMs: this.#rows.nextInMs(options.source, now),
    };
  }

  #reclaimExpired(nowMs: number, { source, attemptsMax }: ClaimOptions): readonly RowReference[] {
    const expired = this.#rows.running(source).filter((row) => row.leaseUntilMs <= nowMs);
    for (const row of expired) {
      if (row.attempts >= attemptsMax) this.#end(row, "dead", "the lease ran out at the last attempt");
      else this.#makeDue(row, nowMs);
    }
    return expired.filter((row) => row.state === "dead").map(({ source, id }) => ({ source, id }));
  }

  #toClaim(row: MemoryRow): Claim {
    const { seq, source, id, channel, timestamp, receivedAtMs, worker, generation, attempts, replays } = row;
    const head = row.columns.orderKey === null ? undefined : this.#heads.get(source, row.columns.orderKey);
    return {
      ...{ seq, source, id, channel, timestamp, receivedAtMs, worker, generation, attempts, replays },
      ...row.columns,
      body: row.body ?? new Uint8Array(),
      head: head?.position ?? null,
    };
  }

  #held(claim: Claim): MemoryRow | undefined {
    const row = this.#rows.get(claim);
    if (row?.state !== "running" || row.worker !== claim.worker) return undefined;
    return row.generation === claim.generation ? row : undefined;
  }

  async renew(claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<number>> {
    const until = this.#clock.now() + leaseMs;
    const held = claims.map((claim) => this.#held(claim)).filter((row) => row !== undefined);
    for (const row of held) row.leaseUntilMs = until;
    return new Set(held.map((row) => row.seq));
  }

  begin(claim: Claim, settlement: Settlement): HandlerTransaction<MemoryTransaction> {
    const changes: (() => void)[] = [];
    let ended = false;
    const apply = (change: () => void) => {
      if (ended) throw new TransactionEndedError("the transaction of this event has ended");
      changes.push(change);
    };
    return {
      handle: { apply },
      commit: async () => {
        ended = true;
        return this.#settle(claim, settlement, changes);
      },
      rollback: async () => {
        ended = true;
      },
    };
  }

  #settle(claim: Claim, settlement: Settlement, changes: readonly (() => void)[]): SettleOutcome {
    const row = this.#held(claim);
    if (!row) return "lost";
    const { move } = settlement;
    if (move && !this.#heads.mayAdvance(claim.source, move)) {
      if (changes.length > 0) return "superseded";
      this.#end(row, "stale", null);
      return "settled-stale";
    }
    for (const change of changes) change();
    if (move) this.#heads.move(claim.source, move, this.#clock.now());
    this.#end(row, settlement.state, null);
    return "settled";
  }

  async fail(claim: Claim, failure: FailedAttempt): Promise<boolean> {
    const row = this.#held(claim);
    if (!row) return false;
    if (failure.kind === "dead") {
      this.#end(row, "dead", failure.error);
    } else if (failure.kind === "release") {
      row.attempts -= 1;
      this.#makeDue(row, this.#clock.now());
    } else {
      row.lastError = failure.error;
      this.#makeDue(row, this.#clock.now() + failure.delayMs);
    }
    return true;
  }

  #makeDue(row: MemoryRow, atMs: number): void {
    row.dueAtMs = atMs;
    this.#rows.move(row, "pending");
    this.#wakeAll();
  }

  #end(row: MemoryRow, state: RowState, error: string | null): void {
    if (error !== null) row.lastError = error;
    this.#rows.move(row, state);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wakers) wake();
  }

  async subscribe(wake: () => void): Promise<() => Promise<void>> {
    this.#wakers.add(wake);
    return async () => {
      this.#wakers.delete(wake);
    };
  }

  async list(filter: RowFilter) {
    return this.#rows.list(filter);
  }

  async get(reference: RowReference) {
    const row = this.#rows.get(reference);
    return row && toDetails(row);
  }

  async replay(reference: RowReference, columns: EventColumns): Promise<boolean> {
    const row = this.#rows.get(reference);
    if (!row?.body || ["pending", "running", "inline"].includes(row.state)) return false;
    row.columns = columns;
    row.attempts = 0;
    row.replays += 1;
    this.#makeDue(row, this.#clock.now());
    return true;
  }

  async discard(reference: RowReference): Promise<boolean> {
    const row = this.#rows.get(reference);
    if (row?.state !== "dead" && row?.state !== "quarantined") return false;
    this.#rows.move(row, "discarded");
    return true;
  }

  async beginInline(
    webhook: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ) {
    const now = this.#clock.now();
    const { source, leaseMs } = options;
    const newRow: NewRow = { ...emptyColumns, ...webhook, source, channel: "webhook", quarantine: null };
    const row = this.#rows.get(newRow) ?? this.#rows.add(newRow, "inline", now);
    if (row.state !== "inline") return { state: "done" } as const;
    if (row.leaseUntilMs > now) return { state: "busy", retryAfterMs: row.leaseUntilMs - now } as const;
    row.generation += 1;
    row.leaseUntilMs = now + leaseMs;
    return { state: "begun", generation: row.generation } as const;
  }

  async finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean> {
    const row = this.#rows.get({ source: options.source, id });
    if (row?.state !== "inline" || row.generation !== options.generation) return false;
    if (options.outcome === "done") this.#rows.move(row, "done");
    else row.leaseUntilMs = 0;
    return true;
  }

  async advanceHead(options: { readonly source: string; readonly key: string; readonly position: string }) {
    const { source, key, position } = options;
    const move = { key, position, status: null, allowSame: false };
    if (!this.#heads.mayAdvance(source, move)) {
      return this.#heads.get(source, key)?.position === position ? "same" : "stale";
    }
    this.#heads.move(source, move, this.#clock.now());
    return "newer";
  }

  async head(source: string, key: string) {
    const head = this.#heads.get(source, key);
    return head && { position: head.position, status: head.status };
  }

  async reconcileCandidates(options: {
    readonly source: string;
    readonly runningForMs: number;
    readonly limit: number;
  }) {
    const { source } = options;
    const found = new Map<string, ReconcileCandidate["reason"]>();
    for (const row of this.#rows.all()) {
      const { orderKey, position } = row.columns;
      if (row.source !== source || orderKey === null) continue;
      const head = this.#heads.get(source, orderKey);
      if (row.state === "dead" && !(head && head.position >= (position ?? ""))) found.set(orderKey, "dead");
      if (row.state !== "quarantined" || (head && head.movedAtMs >= row.receivedAtMs)) continue;
      found.set(orderKey, "quarantined");
    }
    for (const key of this.#heads.runningSince(source, this.#clock.now() - options.runningForMs)) {
      if (!found.has(key)) found.set(key, "running-too-long");
    }
    return [...found].slice(0, options.limit).map(([key, reason]) => ({ key, reason }));
  }

  async heartbeat(source: string): Promise<number | null> {
    const now = this.#clock.now();
    const last = this.#beats.get(source);
    this.#beats.set(source, now);
    return last === undefined ? null : now - last;
  }

  async purge(retention: Retention, rowsMax: number): Promise<number> {
    const now = this.#clock.now();
    return this.#rows.purge(retention, rowsMax, now) + this.#heads.purge(now - retention.headsMs, rowsMax);
  }

  async backlog(source: string, limit: number): Promise<number> {
    return Math.min(limit, this.#rows.openCount(source));
  }

  async stats() {
    return this.#rows.stats(this.#clock.now());
  }
}
