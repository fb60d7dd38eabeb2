import type { Clock } from "../../clock.ts";
import { emptyColumns } from "../../event/event-columns.ts";
import { defaults, option, parseOptions, sharedOptions, strictOptions } from "../../options.ts";
import { type Claim, type Inbox, leaseExpired, type ReconcileCandidate, type RowState } from "../inbox.ts";
import { transactionEnded } from "../lazy-transaction.ts";
import { MemoryHeads } from "./memory-heads.ts";
import { type MemoryRow, MemoryRows, toClaim, toDetails } from "./memory-rows.ts";

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
  readonly #heartbeats = new Map<string, number>();
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
    const { source, worker, leaseMs, attemptsMax } = options;
    const now = this.#clock.now();
    const died = this.#reclaimExpired(source, attemptsMax, now);
    const rows = this.#rows.claimable(now, options);
    for (const row of rows) {
      this.#rows.move(row, "running");
      row.worker = worker;
      row.generation += 1;
      row.attempts += 1;
      row.leaseUntilMs = now + leaseMs;
    }
    const claims = rows.map((row) =>
      toClaim(row, this.#heads.get(row.source, row.orderKey)?.position ?? null),
    );
    return { claims, died, nextInMs: this.#rows.nextInMs(source, now) };
  };

  #reclaimExpired(source: string, attemptsMax: number, nowMs: number) {
    const expired = this.#rows.running(source).filter((row) => row.leaseUntilMs <= nowMs);
    for (const row of expired) {
      if (row.attempts >= attemptsMax) this.#end(row, "dead", leaseExpired);
      else this.#makeDue(row, nowMs);
    }
    return expired.filter((row) => row.state === "dead").map(({ id }) => ({ source, id }));
  }

  #held(claim: Claim): MemoryRow | undefined {
    const row = this.#rows.get(claim);
    const isHeld =
      row?.state === "running" && row.worker === claim.worker && row.generation === claim.generation;
    return isHeld ? row : undefined;
  }

  readonly renew: Methods["renew"] = async (claims, leaseMs) => {
    const held = claims.map((claim) => this.#held(claim)).filter((row) => row !== undefined);
    for (const row of held) row.leaseUntilMs = this.#clock.now() + leaseMs;
    return new Set(held.map((row) => row.seq));
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
      if (advance) this.#heads.advance(claim.source, advance, this.#clock.now());
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
    this.#wakeAll(row.source);
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

  readonly replay: Methods["replay"] = async (reference, { event, orderKey, position, status }) => {
    const row = this.#rows.get(reference);
    if (!row?.body || ["pending", "running", "inline"].includes(row.state)) return false;
    Object.assign(row, { event, orderKey, position, status, attempts: 0, replays: row.replays + 1 });
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
    if (row.leaseUntilMs > now) return { state: "busy", retryAfterMs: row.leaseUntilMs - now };
    row.generation += 1;
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
      this.#heads.advance(source, advance, this.#clock.now());
      return "newer";
    }
    return this.#heads.get(source, key)?.position === position ? "same" : "stale";
  };

  readonly head: Methods["head"] = async (source, key) => {
    const head = this.#heads.get(source, key);
    return head && { position: head.position, status: head.status };
  };

  readonly reconcileCandidates: Methods["reconcileCandidates"] = async ({ source, runningForMs, limit }) => {
    const found = new Map<string, ReconcileCandidate["reason"]>();
    for (const { state, orderKey, position, receivedAtMs, ...row } of this.#rows.all()) {
      if (row.source !== source || orderKey === null) continue;
      const head = this.#heads.get(source, orderKey);
      if (state === "dead" && !(head && head.position >= (position ?? ""))) found.set(orderKey, "dead");
      if (state !== "quarantined" || (head && head.movedAtMs >= receivedAtMs)) continue;
      found.set(orderKey, "quarantined");
    }
    for (const key of this.#heads.runningUntil(source, this.#clock.now() - runningForMs)) {
      if (!found.has(key)) found.set(key, "running-too-long");
    }
    return [...found].slice(0, limit).map(([key, reason]) => ({ key, reason }));
  };

  readonly heartbeat: Methods["heartbeat"] = async (source) => {
    const now = this.#clock.now();
    const last = this.#heartbeats.get(source);
    this.#heartbeats.set(source, now);
    return last === undefined ? null : now - last;
  };

  readonly purge: Methods["purge"] = async (retention, rowsMax) => {
    const now = this.#clock.now();
    return this.#rows.purge(retention, rowsMax, now) + this.#heads.purge(now - retention.headsMs, rowsMax);
  };

  readonly waitingSources: Methods["waitingSources"] = async (source) =>
    this.#rows.waitingSources(source, this.#clock.now());

  readonly backlog: Methods["backlog"] = async (source, limit) =>
    Math.min(limit, this.#rows.openCount(source));

  readonly stats: Methods["stats"] = async () => this.#rows.stats(this.#clock.now());
}
