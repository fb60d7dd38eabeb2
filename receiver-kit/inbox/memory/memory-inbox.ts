import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { positiveInteger, strictOptions, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { defaults, parseOptions, sharedOptions } from "../../options.ts";
import { includesSource } from "../../signature/tenant.ts";
import * as core from "../core/core.ts";
import type { Delivery, Head } from "../core/storage.ts";
import { transactionEnded } from "../handler-transaction.ts";
import {
  countedMax,
  type Inbox,
  type InboxHead,
  type InboxMarks,
  type InboxRetention,
  type InboxRowSummary,
  type InboxSearch,
  type InboxSearchStep,
  type InboxStore,
  type ReconcileCandidate,
} from "../inbox.ts";
import * as rowEnd from "../row-end.ts";
import { listBy, matches, stepRowsDefault } from "../search.ts";
import { least, type MemoryDelivery, MemoryStorage } from "./memory-storage.ts";

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
  readonly #storage: MemoryStorage;
  readonly #marks = new Map<string, InboxMarks>();
  readonly #subscribers = core.createSubscribers();
  #users = 0;
  /** Where the next step of a purge continues, and up to which rows. */
  #purging: Iterator<MemoryDelivery> | undefined;

  constructor(clock: Clock, rowsMax: number) {
    this.#clock = clock;
    this.#storage = new MemoryStorage(rowsMax);
  }

  get isOpen() {
    return this.#users > 0;
  }

  async open() {
    this.#users += 1;
  }

  async close() {
    this.#users = Math.max(0, this.#users - 1);
  }

  readonly insert: Methods["insert"] = async (row) => {
    const result = core.insertRow(this.#storage, row, this.#clock.now());
    if (result.outcome === "new") this.#subscribers.wake(row.source);
    return result;
  };

  readonly claim: Methods["claim"] = async (options) =>
    core.claimRows(this.#storage, options, this.#clock.now());

  readonly renew: Methods["renew"] = async (leases, leaseMs) =>
    core.renewLeases(this.#storage, leases, leaseMs, this.#clock.now());

  readonly begin: Methods["begin"] = (items) => {
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
      const keys = items.map(({ claim }) => core.heldKey(this.#storage, claim));
      if (!keys.every((key) => key !== undefined)) return "lost";
      const isLate = items.some(({ settlement }, index) =>
        rowEnd.isSuperseded(settlement, keys[index]?.position),
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

  #end(end: rowEnd.RowEnd): rowEnd.RowEndResult | undefined {
    const ended = core.endRow(this.#storage, end, this.#clock.now());
    if (ended?.hasMore) this.#subscribers.wake(end.claim.source);
    return ended;
  }

  readonly subscribe = this.#subscribers.subscribe;

  readonly search: Methods["search"] = (search) => this.#search(search);

  async *#search(search: InboxSearch): AsyncGenerator<InboxSearchStep> {
    const { stepRows = stepRowsDefault, beforeSeq = Number.MAX_SAFE_INTEGER } = search;
    let rows: InboxRowSummary[] = [];
    let looked = 0;
    for (const delivery of [...this.#storage.deliveries.values()].reverse()) {
      if (delivery.seq >= beforeSeq) continue;
      looked += 1;
      const row = this.#summary(delivery);
      if (matches(row, delivery.body, search)) rows.push(row);
      if (rows.length < stepRows) continue;
      yield { rows, looked, beforeSeq: delivery.seq };
      rows = [];
    }
    // A search that continues behind its last row has no step.
    if (looked > 0) yield { rows, looked, beforeSeq: 0 };
  }

  readonly list: Methods["list"] = listBy(this.search);

  readonly get: Methods["get"] = async (reference) => {
    const row = this.#storage.findDelivery(reference);
    return row && { ...this.#summary(row), body: row.body };
  };

  /** A delivery as operators see it. */
  #summary(row: MemoryDelivery): InboxRowSummary {
    const { outcome, replayedAtMs, leaseUntilMs: _, generation: __, body, ...delivery } = row;
    const queued = core.queuedOf(this.#storage, row);
    const isClaimed = queued && this.#storage.keys.get(queued.keyId)?.claimed.includes(row.seq);
    const state = outcome ?? (queued ? (isClaimed ? "running" : "pending") : "done");
    const attempts = queued?.attempts ?? delivery.attempts ?? (state === "done" ? 1 : 0);
    return {
      ...delivery,
      state,
      attempts: isClaimed ? attempts + 1 : attempts,
      dueAtMs: (queued?.dueAtMs || replayedAtMs) ?? delivery.receivedAtMs,
      lastError: queued?.lastError ?? delivery.lastError,
      bodyBytes: body?.byteLength ?? null,
    };
  }

  readonly replay: Methods["replay"] = async (reference, columns) => {
    const isReplayed = core.replayRow(this.#storage, reference, columns, this.#clock.now());
    if (isReplayed) this.#subscribers.wake(reference.source);
    return isReplayed;
  };

  readonly discard: Methods["discard"] = async (reference) => core.discardRow(this.#storage, reference);

  readonly beginInline: Methods["beginInline"] = async (webhook, options) =>
    core.beginInline(this.#storage, webhook, options, this.#clock.now());

  readonly finishInline: Methods["finishInline"] = async (id, options) =>
    core.finishInline(this.#storage, id, options);

  readonly advanceHead: Methods["advanceHead"] = async (options) =>
    core.advanceHead(this.#storage, options, this.#clock.now());

  readonly head: Methods["head"] = async (source, key) =>
    headOf(this.#storage.findKey(source, key), this.#clock.now());

  readonly reconcileCandidates: Methods["reconcileCandidates"] = async ({
    source,
    runningForMs,
    afterKey,
    limit,
  }) => {
    const nowMs = this.#clock.now();
    const candidates: ReconcileCandidate[] = [];
    for (const row of this.#storage.deliveries.values()) {
      const { orderKey: key, workspaceId, outcome } = row;
      if (row.source !== source || key === null || (outcome !== "dead" && outcome !== "quarantined"))
        continue;
      const isBehind = !isCovered(row, this.#storage.findKey(source, key), nowMs);
      if (isBehind) candidates.push({ key, reason: outcome, workspaceId });
    }
    for (const { source: stored, name: key, status, movedAtMs, workspaceId } of this.#storage.keys.values()) {
      if (stored !== source || status !== "RUNNING" || movedAtMs === null) continue;
      // A time in the future was stored before the clock was set back, and says nothing about age.
      const isLong = movedAtMs <= nowMs - runningForMs || movedAtMs > nowMs;
      if (isLong) candidates.push({ key, reason: "running-too-long", workspaceId });
    }
    return core.firstOfEachKey(candidates.filter(({ key }) => key > afterKey)).slice(0, limit);
  };

  readonly readMarks: Methods["readMarks"] = async (source) => ({
    nowMs: this.#clock.now(),
    marks: this.#marks.get(source) ?? {},
  });

  readonly writeMarks: Methods["writeMarks"] = async (source, marks) => {
    this.#marks.set(source, { ...this.#marks.get(source), ...marks });
  };

  readonly keepMark: Methods["keepMark"] = async (source, name, value) => {
    const marks = { [name]: value, ...this.#marks.get(source) };
    this.#marks.set(source, marks);
    return marks[name] as string;
  };

  readonly purge: Methods["purge"] = async (retention, rowsMax) => {
    const clockMs = this.#clock.now();
    const nowMs = Math.min(clockMs, retention.asOfMs ?? clockMs);
    const heads = this.#purgeHeads(nowMs - retention.headsMs, rowsMax);
    let changed = 0;
    this.#purging ??= this.#storage.deliveries.values();
    const { bodiesMs, rowsMs, unhandledBodiesMs } = retention;
    const youngestMs = nowMs - Math.min(bodiesMs, rowsMs, unhandledBodiesMs);
    while (changed < rowsMax) {
      const { done, value: row } = this.#purging.next();
      // A time in the future was stored before the clock was set back, and says nothing about the rows behind it.
      if (done || (row.receivedAtMs > youngestMs && row.receivedAtMs <= clockMs)) {
        this.#purging = undefined;
        break;
      }
      if (this.#purgeRow(row, retention, nowMs)) changed += 1;
    }
    return changed + heads;
  };

  #purgeRow(row: MemoryDelivery, retention: InboxRetention, nowMs: number): boolean {
    if (core.queuedOf(this.#storage, row)) return false;
    const ageMs = nowMs - storedAtMs(row);
    const isUnhandled = row.outcome === "dead" || row.outcome === "quarantined";
    const bodyMs = isUnhandled ? retention.unhandledBodiesMs : retention.bodiesMs;
    if (!isUnhandled && ageMs >= retention.rowsMs) this.#storage.removeDelivery(row);
    else if (row.body !== null && ageMs >= bodyMs) row.body = null;
    else return false;
    return true;
  }

  /** In the order in which they advanced; a key without a head does not count. */
  #purgeHeads(unchangedSinceMs: number, headsMax: number): number {
    const expired: number[] = [];
    for (const { id, movedAtMs, waiting } of this.#storage.keys.values()) {
      if (expired.length >= headsMax || (movedAtMs ?? 0) > unchangedSinceMs) break;
      if (movedAtMs !== null && waiting === 0) expired.push(id);
    }
    for (const id of expired) this.#storage.deleteKey(id);
    return expired.length;
  }

  readonly waitingSources: Methods["waitingSources"] = async (source) => {
    const nowMs = this.#clock.now();
    const names = [...this.#storage.waiting.keys()].filter((name) => includesSource(source, name)).sort();
    return names.map((name) => {
      const atMs = least(this.#storage.waitingKeys(name).map(({ wakeAtMs }) => wakeAtMs ?? nowMs));
      return { source: name, dueInMs: (atMs ?? nowMs) - nowMs };
    });
  };

  readonly backlog: Methods["backlog"] = async (source, limit) => {
    const waiting = this.#storage.waitingKeys(source).reduce((sum, key) => sum + key.waiting, 0);
    return Math.min(waiting, limit);
  };

  readonly leases: Methods["leases"] = async () => {
    const nowMs = this.#clock.now();
    return [...this.#storage.keys.values()].flatMap(({ source, worker, claimed, wakeAtMs }) =>
      worker === null
        ? []
        : [{ source, worker, rows: claimed.length, endsInMs: (wakeAtMs ?? nowMs) - nowMs }],
    );
  };

  readonly stats: Methods["stats"] = async () => {
    const nowMs = this.#clock.now();
    const rows = { waiting: 0, dead: 0, quarantined: 0 };
    let oldestPendingMs: number | null = null;
    let newestAtMs = nowMs;
    for (const row of this.#storage.deliveries.values()) {
      const { state, dueAtMs } = this.#summary(row);
      const counted = state === "pending" || state === "running" ? "waiting" : state;
      if (counted in rows) rows[counted as keyof typeof rows] += 1;
      newestAtMs = row.receivedAtMs;
      if (state !== "pending" || dueAtMs > nowMs) continue;
      oldestPendingMs = Math.max(oldestPendingMs ?? 0, nowMs - storedAtMs(row));
    }
    for (const state of Object.keys(rows) as (keyof typeof rows)[])
      rows[state] = Math.min(countedMax, rows[state]);
    return { rows, oldestPendingMs, storedAheadMs: Math.max(0, newestAtMs - nowMs) };
  };
}

/** A row that was replayed is as old as its replay. */
const storedAtMs = ({ replayedAtMs, receivedAtMs }: MemoryDelivery): number => replayedAtMs ?? receivedAtMs;

function headOf(key: Head | undefined, nowMs: number): InboxHead | undefined {
  if (!key || key.position === null) return undefined;
  const { position, status, movedAtMs } = key;
  return { position, status, unchangedMs: nowMs - (movedAtMs ?? nowMs) };
}

/** Whether something as new as a dead or quarantined row was applied. */
function isCovered(
  { outcome, position, receivedAtMs }: Pick<Delivery, "outcome" | "position" | "receivedAtMs">,
  head: Head | undefined,
  nowMs: number,
): boolean {
  const { position: applied = null, movedAtMs = null } = head ?? {};
  if (applied === null || movedAtMs === null) return false;
  if (outcome === "dead") return position !== null && applied >= position;
  return movedAtMs >= receivedAtMs && movedAtMs <= nowMs;
}
