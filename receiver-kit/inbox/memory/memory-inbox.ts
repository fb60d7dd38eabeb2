import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { positiveInteger, strictOptions, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { emptyColumns } from "../../event/event-columns.ts";
import { defaults, parseOptions, sharedOptions } from "../../options.ts";
import type { Inbox, InboxClaim, InboxMarks, InboxStore } from "../inbox.ts";
import { transactionEnded } from "../lazy-transaction.ts";
import * as rowEnd from "../row-end.ts";
import { createSubscribers } from "../subscribers.ts";
import { reconcileCandidates } from "./memory-candidates.ts";
import { claimRows, renewLeases } from "./memory-claims.ts";
import { endRow, findHeld } from "./memory-ends.ts";
import { MemoryKeys } from "./memory-keys.ts";
import { MemoryRows, toDetails } from "./memory-rows.ts";

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

type Methods = InboxStore<MemoryTransaction>;

const memoryOptions = strictOptions<MemoryInboxOptions>()({
  clock: sharedOptions.clock,
  rowsMax: withDefault(positiveInteger, defaults.memory.rowsMax),
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

class MemoryInbox implements InboxStore<MemoryTransaction> {
  readonly durable = false;
  readonly #clock: Clock;
  readonly #rows: MemoryRows;
  readonly #keys = new MemoryKeys();
  readonly #marks = new Map<string, InboxMarks>();
  readonly #subscribers = createSubscribers();

  constructor(clock: Clock, rowsMax: number) {
    this.#clock = clock;
    this.#rows = new MemoryRows(rowsMax);
  }

  #users = 0;

  get isOpen() {
    return this.#users > 0;
  }

  async open() {
    this.#users += 1;
  }

  async close() {
    this.#users = Math.max(0, this.#users - 1);
  }

  readonly insert: Methods["insert"] = async (newRow) => {
    const first = this.#rows.get(newRow);
    if (first) {
      return { outcome: "duplicate", sameBody: first.body && Buffer.compare(first.body, newRow.body) === 0 };
    }
    const now = this.#clock.now();
    const row = this.#rows.add(newRow, newRow.quarantine === null ? "pending" : "quarantined", now);
    if (row.state === "pending") {
      this.#keys.addRow(row, now);
      this.#subscribers.wake(row.source);
    }
    return { outcome: "new" };
  };

  readonly claim: Methods["claim"] = async (options) => claimRows(this.#keys, options, this.#clock.now());

  readonly renew: Methods["renew"] = async (leases, leaseMs) =>
    renewLeases(this.#keys, leases, leaseMs, this.#clock.now());

  readonly begin: Methods["begin"] = (items) => {
    const changes: (() => void)[] = [];
    let ended = false;
    const apply = (change: () => void) => {
      if (ended) throw transactionEnded();
      changes.push(change);
    };
    const rollback = async () => {
      ended = true;
      rowEnd.reopen(items);
    };
    const commit = async () => {
      ended = true;
      const held = items.map(({ claim }) => this.#held(claim));
      if (!held.every((row) => row !== undefined)) return "lost";
      const isLate = items.some(({ settlement }, index) =>
        rowEnd.isSuperseded(settlement, held[index]?.key.head?.position),
      );
      if (isLate && (changes.length > 0 || items.length > 1)) return "superseded";
      for (const change of changes) change();
      const outcomes = items.map(({ claim, settlement }) => {
        const end = rowEnd.settledEnd(claim, settlement);
        return rowEnd.settleOutcome(end, this.#end(end));
      });
      return outcomes[0] ?? "settled";
    };
    return { handle: { apply }, commit, rollback };
  };

  readonly fail: Methods["fail"] = async (claim, failure) =>
    this.#end(rowEnd.failedEnd(claim, failure)) !== undefined;

  #held(claim: InboxClaim) {
    return findHeld(this.#keys, this.#rows, claim);
  }

  #end(end: rowEnd.RowEnd): rowEnd.RowEndResult | undefined {
    const held = this.#held(end.claim);
    const ended = held && endRow(this.#keys, held, end, this.#clock.now());
    if (ended?.hasMore) this.#subscribers.wake(end.claim.source);
    return ended;
  }

  readonly subscribe = this.#subscribers.subscribe;

  readonly list: Methods["list"] = async (filter) => this.#rows.list(filter);

  readonly get: Methods["get"] = async (reference) => {
    const row = this.#rows.get(reference);
    return row && toDetails(row);
  };

  readonly replay: Methods["replay"] = async (reference, columns) => {
    const { event, orderKey, position, status, workspaceId } = columns;
    const row = this.#rows.get(reference);
    if (!row?.body || ["pending", "running", "inline"].includes(row.state)) return false;
    const now = this.#clock.now();
    Object.assign(row, { event, orderKey, position, status, workspaceId, state: "pending", attempts: 0 });
    Object.assign(row, { replays: row.replays + 1, replayedAtMs: now });
    this.#keys.addRow(row, now);
    this.#subscribers.wake(row.source);
    return true;
  };

  readonly discard: Methods["discard"] = async (reference) => {
    const row = this.#rows.get(reference);
    if (row?.state !== "dead" && row?.state !== "quarantined") return false;
    row.state = "discarded";
    return true;
  };

  readonly beginInline: Methods["beginInline"] = async ({ id, timestamp, body }, { source, leaseMs }) => {
    const now = this.#clock.now();
    const delivery = { source, id, timestamp, body, channel: "webhook", quarantine: null } as const;
    const columns = { ...emptyColumns, secretIndex: null, traceparent: null };
    const row = this.#rows.get(delivery) ?? this.#rows.add({ ...columns, ...delivery }, "inline", now);
    if (row.state !== "inline") return { state: "done" };
    const granted = { grantedAtMs: now, untilMs: now + leaseMs };
    // Begun in the future: the clock was set back since, and the lease starts again.
    if (row.inlineLease.grantedAtMs > now) row.inlineLease = { ...row.inlineLease, ...granted };
    const { generation, untilMs } = row.inlineLease;
    if (untilMs > now) return { state: "busy", retryAfterMs: untilMs - now };
    row.inlineLease = { ...granted, generation: generation + 1 };
    return { state: "begun", generation: generation + 1 };
  };

  readonly finishInline: Methods["finishInline"] = async (id, { source, generation, outcome }) => {
    const row = this.#rows.get({ source, id });
    if (row?.state !== "inline" || row.inlineLease.generation !== generation) return false;
    if (outcome === "done") Object.assign(row, { state: "done", attempts: 1 });
    else row.inlineLease = { generation, grantedAtMs: 0, untilMs: 0 };
    return true;
  };

  readonly advanceHead: Methods["advanceHead"] = async ({ source, key, position }) => {
    const head = this.#keys.get({ source, key })?.head;
    if (head && position <= head.position) return position === head.position ? "same" : "stale";
    const advanced = { position, status: null, workspaceId: head?.workspaceId ?? null };
    this.#keys.getOrAdd({ source, key }).head = { ...advanced, movedAtMs: this.#clock.now() };
    return "newer";
  };

  readonly head: Methods["head"] = async (source, key) => {
    const head = this.#keys.get({ source, key })?.head;
    if (!head) return undefined;
    const { position, status, movedAtMs } = head;
    return { position, status, unchangedMs: this.#clock.now() - movedAtMs };
  };

  readonly reconcileCandidates: Methods["reconcileCandidates"] = async (options) =>
    reconcileCandidates(this.#rows.all(), this.#keys, options, this.#clock.now());

  readonly readMarks: Methods["readMarks"] = async (source) => ({
    nowMs: this.#clock.now(),
    marks: this.#marks.get(source) ?? {},
  });

  readonly writeMarks: Methods["writeMarks"] = async (source, marks) => {
    this.#marks.set(source, { ...this.#marks.get(source), ...marks });
  };

  readonly purge: Methods["purge"] = async (retention, rowsMax) => {
    const now = Math.min(this.#clock.now(), retention.asOfMs ?? Number.POSITIVE_INFINITY);
    const heads = this.#keys.purgeHeads(now - retention.headsMs, rowsMax);
    return this.#rows.purge(retention, rowsMax, now) + heads;
  };

  readonly waitingSources: Methods["waitingSources"] = async (source) =>
    this.#keys.waitingSources(source, this.#clock.now());

  readonly backlog: Methods["backlog"] = async (source, limit) => this.#keys.backlog(source, limit);

  readonly stats: Methods["stats"] = async () => this.#rows.stats(this.#clock.now());
}
