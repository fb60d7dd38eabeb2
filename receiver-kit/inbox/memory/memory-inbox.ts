import type { Clock } from "../../clock.ts";
import { emptyColumns } from "../../event/event-columns.ts";
import { defaults, option, parseOptions, sharedOptions, strictOptions } from "../../options.ts";
import { type Claim, type Inbox, type KeyLease, leaseExpired, type Marks, type RowState } from "../inbox.ts";
import { transactionEnded } from "../lazy-transaction.ts";
import type { ReconcileCandidate } from "../order-head.ts";
import { byKey, headName, MemoryHeads } from "./memory-heads.ts";
import { isBefore, type MemoryRow, MemoryRows, toClaim, toDetails } from "./memory-rows.ts";

export interface MemoryInboxOptions {
  readonly clock?: Clock | undefined;
  /** Rows kept at most, settled ones included; when full, storing fails rather than forgetting an id. Default 100,000. */
  readonly rowsMax?: number | undefined;
}

/** What handlers see as `context.transaction` with the memory inbox. */
export interface MemoryTransaction {
  /** Runs `change` at the moment the event counts as handled, or never. It must not throw. */
  apply(change: () => void): void;
}

type Methods = Inbox<MemoryTransaction>;

const memoryOptions = strictOptions<MemoryInboxOptions>()({
  clock: sharedOptions.clock,
  rowsMax: option.positiveInteger.default(defaults.memory.rowsMax),
});

/**
 * An inbox for tests, demonstrations and simulations: the same promises as the others, except that nothing outlives
 * the process. Closing it keeps its rows, so that a test can "restart" a receiver on the same inbox.
 *
 * @example examples/receiver-kit.test.ts#memory
 * ```ts
 * const receiver = createReceiver({ secrets: [signingSecret], inbox: memoryInbox() });
 * receiver.onState("task", ({ taskId, status }, { transaction }) => {
 *   transaction.apply(() => states.set(taskId, status));
 * });
 * await receiver.start();
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox<MemoryTransaction> {
  const { clock, rowsMax } = parseOptions("memoryInbox", memoryOptions, options);
  return new MemoryInbox(clock, rowsMax);
}

class MemoryInbox implements Inbox<MemoryTransaction> {
  readonly durable = false;
  readonly #clock: Clock;
  readonly #rows: MemoryRows;
  readonly #heads = new MemoryHeads();
  readonly #marks = new Map<string, Marks>();
  readonly #subscribers = new Map<symbol, (source?: string) => void>();

  constructor(clock: Clock, rowsMax: number) {
    this.#clock = clock;
    this.#rows = new MemoryRows(rowsMax);
  }

  async open() {}

  async close() {}

  readonly insert: Methods["insert"] = async (newRow) => {
    const first = this.#rows.get(newRow);
    if (first) {
      return { outcome: "duplicate", sameBody: first.body && Buffer.compare(first.body, newRow.body) === 0 };
    }
    this.#rows.add(newRow, newRow.quarantine === null ? "pending" : "quarantined", this.#clock.now());
    this.#wakeAll(newRow.source);
    return { outcome: "new" };
  };

  readonly claim: Methods["claim"] = async (options) => {
    const { source, worker, leaseMs, attemptsMax, reclaimUntilMs } = options;
    const now = this.#clock.now();
    const died = this.#reclaimExpired(source, attemptsMax, Math.min(now, reclaimUntilMs ?? now), now);
    const claims: Claim[] = [];
    for (const rows of this.#rows.claimable(now, options)) {
      const taken = rows.slice(0, options.rowsMax - claims.length);
      if (taken.length === 0) break;
      const generation = Math.max(...rows.map((row) => row.generation)) + 1;
      const lease: KeyLease = { keyId: rows[0]?.seq ?? 0, worker, generation, openRows: new Set() };
      for (const row of taken) {
        this.#rows.move(row, "running");
        Object.assign(row, { lease, generation, dueAtMs: now, leaseUntilMs: now + leaseMs });
        row.attempts += 1;
        claims.push(toClaim(row, lease, this.#heads.get(row.source, row.orderKey)?.position ?? null));
      }
    }
    return { claims, died, nextInMs: this.#rows.nextInMs(source, now), nowMs: now };
  };

  /** Of the rows of a lease only the first can have been attempted. */
  #reclaimExpired(source: string, attemptsMax: number, untilMs: number, nowMs: number) {
    const expired = this.#rows.running(source).filter((row) => row.leaseUntilMs <= untilMs);
    const seen = new Set<KeyLease | null>();
    for (const row of expired.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))) {
      row.isSuspect = true;
      if (seen.has(row.lease)) row.attempts -= 1;
      seen.add(row.lease);
      if (row.attempts >= attemptsMax) this.#end(row, "dead", leaseExpired);
      else this.#makeDue(row, nowMs);
    }
    return expired.filter((row) => row.state === "dead").map(({ id }) => ({ source, id }));
  }

  #held({ lease: { worker, generation }, ...claim }: Claim): MemoryRow | undefined {
    const row = this.#rows.get(claim);
    return row?.lease?.worker === worker && row.lease.generation === generation ? row : undefined;
  }

  readonly renew: Methods["renew"] = async (leases, leaseMs) => {
    const held = new Set<KeyLease>();
    for (const lease of leases) {
      for (const row of this.#rows.leased(lease)) {
        row.dueAtMs = this.#clock.now();
        row.leaseUntilMs = row.dueAtMs + leaseMs;
        held.add(lease);
      }
    }
    return held;
  };

  readonly begin: Methods["begin"] = (claim, { state, advance }) => {
    const changes: (() => void)[] = [];
    let ended = false;
    const apply = (change: () => void) => {
      if (ended) throw transactionEnded();
      changes.push(change);
    };
    const rollback = async () => {
      ended = true;
      return undefined;
    };
    const commit = async () => {
      ended = true;
      const row = this.#held(claim);
      if (!row) return "lost";
      if (advance && !this.#heads.mayAdvance(claim.source, advance)) {
        if (changes.length > 0) return "superseded";
        this.#end(row, "stale");
        return "settled-stale";
      }
      for (const change of changes) change();
      if (advance) this.#heads.advance(claim, advance, this.#clock.now());
      this.#end(row, state);
      return "settled";
    };
    return { handle: { apply }, commit, rollback };
  };

  readonly fail: Methods["fail"] = async (claim, failure) => {
    const row = this.#held(claim);
    if (!row) return false;
    if (failure.kind === "dead") {
      this.#end(row, "dead", failure.error);
      return true;
    }
    if (failure.kind === "release") row.attempts -= 1;
    else row.lastError = failure.error;
    this.#makeDue(row, this.#clock.now() + (failure.kind === "retry" ? failure.delayMs : 0));
    return true;
  };

  #makeDue(row: MemoryRow, atMs: number): void {
    row.dueAtMs = atMs;
    this.#rows.move(row, "pending");
    this.#wakeAll(row.source);
  }

  #end(row: MemoryRow, state: RowState, error = row.lastError): void {
    row.lastError = error;
    this.#rows.move(row, state);
    if (this.#rows.hasWaiting(row)) this.#wakeAll(row.source);
  }

  #wakeAll(source: string): void {
    for (const wake of this.#subscribers.values()) wake(source);
  }

  readonly subscribe: NonNullable<Methods["subscribe"]> = async (wake) => {
    const subscriber = Symbol("subscriber");
    this.#subscribers.set(subscriber, wake);
    return async () => void this.#subscribers.delete(subscriber);
  };

  readonly list: Methods["list"] = async (filter) => this.#rows.list(filter);

  readonly get: Methods["get"] = async (reference) => {
    const row = this.#rows.get(reference);
    return row && toDetails(row);
  };

  readonly repairTimes: Methods["repairTimes"] = async ({ source, retry }) => {
    const repaired = this.#rows.repairTimes(source, retry, this.#clock.now());
    if (repaired > 0) this.#wakeAll(source);
    return repaired;
  };

  readonly replay: Methods["replay"] = async (reference, columns) => {
    const { event, orderKey, position, status, workspaceId } = columns;
    const row = this.#rows.get(reference);
    if (!row?.body || ["pending", "running", "inline"].includes(row.state)) return false;
    Object.assign(row, { event, orderKey, position, status, workspaceId });
    Object.assign(row, { attempts: 0, replays: row.replays + 1 });
    this.#makeDue(row, this.#clock.now());
    return true;
  };

  readonly discard: Methods["discard"] = async (reference) => {
    const row = this.#rows.get(reference);
    if (row?.state !== "dead" && row?.state !== "quarantined") return false;
    this.#rows.move(row, "discarded");
    return true;
  };

  readonly beginInline: Methods["beginInline"] = async ({ id, timestamp, body }, { source, leaseMs }) => {
    const now = this.#clock.now();
    const delivery = { source, id, timestamp, body, channel: "webhook", quarantine: null } as const;
    const columns = { ...emptyColumns, secretIndex: null, traceparent: null };
    const row = this.#rows.get(delivery) ?? this.#rows.add({ ...columns, ...delivery }, "inline", now);
    if (row.state !== "inline") return { state: "done" };
    // Begun in the future: the clock was set back since, and the lease starts again.
    if (row.dueAtMs > now) Object.assign(row, { dueAtMs: now, leaseUntilMs: now + leaseMs });
    if (row.leaseUntilMs > now) return { state: "busy", retryAfterMs: row.leaseUntilMs - now };
    row.generation += 1;
    row.dueAtMs = now;
    row.leaseUntilMs = now + leaseMs;
    return { state: "begun", generation: row.generation };
  };

  readonly finishInline: Methods["finishInline"] = async (id, { source, generation, outcome }) => {
    const row = this.#rows.get({ source, id });
    if (row?.state !== "inline" || row.generation !== generation) return false;
    if (outcome === "done") this.#rows.move(row, "done");
    else row.leaseUntilMs = 0;
    return true;
  };

  readonly advanceHead: Methods["advanceHead"] = async ({ source, key, position }) => {
    const advance = { key, position, status: null, allowSame: false };
    if (this.#heads.mayAdvance(source, advance)) {
      this.#heads.advance({ source, workspaceId: null }, advance, this.#clock.now());
      return "newer";
    }
    return this.#heads.get(source, key)?.position === position ? "same" : "stale";
  };

  readonly head: Methods["head"] = async (source, key) => {
    const head = this.#heads.get(source, key);
    if (!head) return undefined;
    const { position, status, movedAtMs } = head;
    return { position, status, unchangedMs: this.#clock.now() - movedAtMs };
  };

  readonly listHeads: Methods["listHeads"] = async (filter) => this.#heads.list(filter);

  readonly resetHead: Methods["resetHead"] = async (head) => this.#heads.reset(head);

  readonly reconcileCandidates: Methods["reconcileCandidates"] = async (options) => {
    const { source, runningForMs, afterKey, limit } = options;
    const now = this.#clock.now();
    const found = new Map<string, ReconcileCandidate>();
    const add = (key: string, reason: ReconcileCandidate["reason"], workspaceId: string | null) => {
      if (key > afterKey && !found.has(key)) found.set(key, { key, reason, workspaceId });
    };
    for (const row of this.#rows.all()) {
      const { state, orderKey, position, receivedAtMs, workspaceId } = row;
      if (row.source !== source || orderKey === null) continue;
      const head = this.#heads.get(source, orderKey);
      if (state === "dead" && !(head && head.position >= (position ?? "")))
        add(orderKey, "dead", workspaceId);
      const isCovered = head && head.movedAtMs >= receivedAtMs && head.movedAtMs <= now;
      if (state === "quarantined" && !isCovered) add(orderKey, "quarantined", workspaceId);
    }
    for (const { key, workspaceId } of this.#heads.runningUntil(source, now - runningForMs, now)) {
      add(key, "running-too-long", workspaceId);
    }
    return [...found.values()].sort(byKey).slice(0, limit);
  };

  readonly readMarks: Methods["readMarks"] = async (source) => ({
    nowMs: this.#clock.now(),
    marks: this.#marks.get(source) ?? {},
  });

  readonly writeMarks: Methods["writeMarks"] = async (source, marks) => {
    this.#marks.set(source, { ...this.#marks.get(source), ...marks });
  };

  readonly purge: Methods["purge"] = async (retention, rowsMax) => {
    const now = Math.min(this.#clock.now(), retention.asOfMs ?? Number.POSITIVE_INFINITY);
    const waiting = new Set(this.#rows.open().map((row) => headName(row.source, row.orderKey)));
    const heads = this.#heads.purge(now - retention.headsMs, rowsMax, waiting);
    return this.#rows.purge(retention, rowsMax, now) + heads;
  };

  readonly waitingSources: Methods["waitingSources"] = async (source) =>
    this.#rows.waitingSources(source, this.#clock.now());

  readonly backlog: Methods["backlog"] = async (source, limit) =>
    Math.min(limit, this.#rows.openCount(source));

  readonly stats: Methods["stats"] = async () => this.#rows.stats(this.#clock.now());
}
