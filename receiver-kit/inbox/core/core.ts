// The rules of the inbox, once for memory and SQLite: what is stored, who gets it, and how it ends. Each function is one
// step: nothing else runs meanwhile, and a storage with transactions keeps all of it or nothing.

import { type EventColumns, emptyColumns } from "../../event/event-order.ts";
import type { VerifiedWebhook } from "../../signature/verifier.ts";
import * as inbox from "../inbox.ts";
import { isSuperseded, type RowEnd, type RowEndResult, recoveredDueAtMs } from "../row-end.ts";
import type {
  Delivery,
  DueKey,
  DueTimes,
  Head,
  Key,
  KeyFields,
  QueuedRow,
  Storage,
  WaitingRow,
} from "./storage.ts";

export function insertRow(storage: Storage, row: inbox.NewInboxRow, nowMs: number): inbox.InboxInsertResult {
  const seq = storage.addDelivery(row, row.quarantine === null ? null : "quarantined", nowMs);
  if (seq === undefined) return { outcome: "duplicate", sameBody: storage.compareBody(row) };
  if (row.quarantine === null) enqueue(storage, { ...row, seq }, row.body.byteLength, nowMs);
  return { outcome: "new" };
}

type NewlyWaiting = Pick<Delivery, "seq" | "source" | "id" | "orderKey" | "position" | "workspaceId">;

function enqueue(storage: Storage, row: NewlyWaiting, bodyBytes: number, nowMs: number): void {
  const { seq, source, position, workspaceId } = row;
  const name = keyNameOf(row);
  const found = storage.findKey(source, name);
  const keyId =
    found?.id ?? storage.addKey(source, name, { ...newKey, workspaceId, waiting: 1, wakeAtMs: nowMs });
  if (found) {
    const wakeAtMs = found.worker === null ? Math.min(found.wakeAtMs ?? nowMs, nowMs) : found.wakeAtMs;
    const waiting = found.waiting + 1;
    storage.changeKey(
      keyId,
      workspaceId === null ? { waiting, wakeAtMs } : { waiting, wakeAtMs, workspaceId },
    );
  }
  storage.enqueue({
    keyId,
    position: position ?? "",
    seq,
    dueAtMs: 0,
    attempts: 0,
    bodyBytes,
    lastError: null,
  });
}

const newKey: Omit<KeyFields, "id"> = {
  workspaceId: null,
  position: null,
  status: null,
  movedAtMs: null,
  waiting: 0,
  wakeAtMs: null,
  worker: null,
  generation: 0,
  claimed: [],
  suspects: 0,
};

/** A row without a key is a key of its own; other keys are JSON arrays. */
export const keyNameOf = ({ orderKey, id }: Pick<Delivery, "orderKey" | "id">): string =>
  orderKey ?? `id:${id}`;

export function claimRows(
  storage: Storage,
  options: inbox.InboxClaimOptions,
  nowMs: number,
): inbox.InboxClaimResult {
  const { source, rowsMax } = options;
  const due = { nowMs, aheadMs: nowMs + inbox.longestDelayMs(options) };
  const taken = new Taken(options);
  const died: inbox.InboxDeath[] = [];
  let mayHaveMore = true;
  let recovered = 0;
  // Keys that were recovered are claimed in the next round; so are those behind keys without a due row.
  for (let round = 0; mayHaveMore && taken.hasRoom && round < roundsMax; round++) {
    const limits = { rowsMax, rowsPerKeyMax: options.rowsPerKeyMax, isStrict: options.keyOrder === "strict" };
    const keys = storage.dueKeys(source, due, limits);
    const isCut = keys.reduce((sum, { rows }) => sum + Math.max(1, rows.length), 0) >= rowsMax;
    mayHaveMore = isCut;
    for (const key of keys) {
      if (!taken.hasRoom) break;
      // Rows before the last key were not taken: it may have more than were read.
      const isLast = key === keys.at(-1) && keys.length > 1;
      if (isCut && isLast && taken.rows.length + key.rows.length < rowsMax) break;
      if (key.worker === null) claimKey(storage, key, taken, options, due);
      else {
        died.push(...recoverKey(storage, key.id, recovered, options, nowMs));
        recovered += 1;
        mayHaveMore = true;
      }
    }
  }
  const isMoreDue = taken.rows.length < rowsMax && (!taken.hasRoom || mayHaveMore);
  const nextAtMs = isMoreDue ? nowMs : storage.nextWakeMs(source, due);
  const nextInMs = nextAtMs === null ? null : Math.max(0, nextAtMs - nowMs);
  return { claims: toClaims(taken.rows, storage), died, nextInMs };
}

/** How often one claim looks for keys. */
const roundsMax = 4;

/** The rows of a claim, up to its limits. */
class Taken {
  readonly rows: TakenRow[] = [];
  readonly #options: inbox.InboxClaimOptions;
  #bytes = 0;
  #isFull = false;

  constructor(options: inbox.InboxClaimOptions) {
    this.#options = options;
  }

  get hasRoom(): boolean {
    return !this.#isFull && this.rows.length < this.#options.rowsMax;
  }

  /** How many of the rows that follow fit. */
  countFitting(rows: readonly WaitingRow[]): number {
    const { rowsMax, bytesMax } = this.#options;
    let count = 0;
    for (const { bodyBytes } of rows) {
      const taken = this.rows.length + count;
      this.#bytes += bodyBytes;
      this.#isFull = taken >= rowsMax || (taken > 0 && this.#bytes > bytesMax);
      if (this.#isFull) break;
      count++;
    }
    return count;
  }
}

interface TakenRow {
  readonly row: WaitingRow;
  readonly lease: inbox.InboxLease;
  /** Position of the key's head. */
  readonly head: string | null;
}

function claimKey(
  storage: Storage,
  key: DueKey,
  taken: Taken,
  { worker, leaseMs }: inbox.InboxClaimOptions,
  due: DueTimes,
): void {
  const { id, position: head, suspects } = key;
  const notDue = key.rows.findIndex(({ dueAtMs }) => !isDue(dueAtMs, due));
  const rows = notDue < 0 ? key.rows : key.rows.slice(0, notDue);
  if (rows.length === 0) {
    storage.changeKey(id, { wakeAtMs: key.rows[0]?.dueAtMs ?? storage.nextDueMs(id) });
    return;
  }
  const fitting = rows.slice(0, taken.countFitting(suspects > 0 ? rows.slice(0, 1) : rows));
  if (fitting.length === 0) return;
  const claimed = fitting.map(({ seq }) => seq);
  const generation = key.generation + 1;
  storage.changeKey(id, { worker, generation, claimed, wakeAtMs: due.nowMs + leaseMs });
  const lease: inbox.InboxLease = { keyId: id, worker, generation };
  for (const row of fitting) taken.rows.push({ row, lease, head });
}

function toClaims(taken: readonly TakenRow[], storage: Storage): readonly inbox.InboxClaim[] {
  const bodies = storage.readBodies(taken.map(({ row }) => row.seq));
  return taken.map(
    // One literal: an object that is composed of others takes several times as long to create.
    ({ row, lease, head }): Claim => ({
      seq: row.seq,
      source: row.source,
      id: row.id,
      channel: row.channel,
      event: row.event,
      orderKey: row.orderKey,
      position: row.position,
      status: row.status,
      workspaceId: row.workspaceId,
      timestamp: row.timestamp,
      receivedAtMs: row.receivedAtMs,
      secretIndex: row.secretIndex,
      traceparent: row.traceparent,
      attempts: row.attempts + 1,
      replays: row.replays,
      body: bodies.get(row.seq) ?? new Uint8Array(),
      lease,
      head,
      lastError: row.lastError,
    }),
  );
}

/** With what the attempts before had ended with, for the end of the row. */
interface Claim extends inbox.InboxClaim {
  readonly lastError: string | null;
}

export const isDue = (atMs: number, { nowMs, aheadMs }: DueTimes): boolean => atMs <= nowMs || atMs > aheadMs;

/**
 * A key whose lease expired: the row that was being handled has an attempt more, or is dead after its last one.
 *
 * @param place among the keys that this claim recovers
 */
function recoverKey(
  storage: Storage,
  keyId: number,
  place: number,
  { attemptsMax, retry }: inbox.InboxClaimOptions,
  nowMs: number,
): readonly inbox.InboxDeath[] {
  const key = storage.readKey(keyId);
  if (!key) return [];
  const handled = findHandled(storage, key);
  const died: inbox.InboxDeath[] = [];
  let dueAtMs = nowMs;
  if (handled) {
    const attempts = handled.row.attempts + 1;
    if (attempts < attemptsMax) {
      const due = recoveredDueAtMs({ attempts, place, retry }, nowMs);
      storage.saveQueued({ ...handled.row, attempts, dueAtMs: due });
      dueAtMs = Math.max(nowMs, due);
    } else {
      const error = inbox.leaseExpiredAfter(handled.row.lastError);
      storage.dequeue(handled.row);
      storage.changeDelivery(handled.row.seq, {
        outcome: "dead",
        attempts,
        lastError: error,
        diedAtMs: nowMs,
      });
      died.push({ source: handled.delivery.source, id: handled.delivery.id, error });
    }
  }
  const waiting = key.waiting - died.length;
  const suspects = Math.max(0, key.claimed.length - died.length);
  const wakeAtMs = waiting === 1 && died.length === 0 ? dueAtMs : nowMs;
  endLease(storage, key, { waiting, suspects, claimed: [], wakeAtMs }, null);
  return died;
}

/** The row of an expired lease that was being handled. */
function findHandled(storage: Storage, { id: keyId, claimed }: Key) {
  for (const seq of claimed) {
    const delivery = storage.readDelivery(seq);
    const row = delivery && storage.findQueued({ keyId, position: delivery.position ?? "", seq });
    if (row) return { delivery, row };
  }
  return undefined;
}

type LeaseEnd = Pick<Key, "waiting" | "suspects" | "claimed" | "wakeAtMs">;

/** A key that has neither a head nor a row has nothing to remember. `null` keeps the head. */
function endLease(storage: Storage, key: Key, lease: LeaseEnd, head: Head | null): void {
  if (lease.waiting === 0 && key.position === null && head === null) {
    storage.deleteKey(key.id);
    return;
  }
  const freed = lease.claimed.length === 0 ? { worker: null } : {};
  const wakeAtMs = lease.waiting === 0 ? null : lease.wakeAtMs;
  storage.changeKey(key.id, { ...lease, wakeAtMs, ...freed, ...head });
}

/** Returns the leases that are still held. */
export function renewLeases(
  storage: Storage,
  leases: readonly inbox.InboxLease[],
  leaseMs: number,
  nowMs: number,
): ReadonlySet<inbox.InboxLease> {
  const held = new Set<inbox.InboxLease>();
  for (const lease of leases) {
    if (!leasedKey(storage, lease)) continue;
    storage.changeKey(lease.keyId, { wakeAtMs: nowMs + leaseMs });
    held.add(lease);
  }
  return held;
}

/** Ends a claimed row and advances the head of its key; `undefined` when it was not held or had ended before. */
export function endRow(storage: Storage, end: RowEnd, nowMs: number): RowEndResult | undefined {
  const { advance, error, delayMs } = end;
  const claim = end.claim as Claim;
  const { seq, attempts } = claim;
  const { keyId } = claim.lease;
  const key = heldKey(storage, claim);
  if (!key) return undefined;
  const result = end.outcome === "done" && isSuperseded(end, key.position) ? "stale" : end.outcome;
  const place = { keyId, position: claim.position ?? "", seq };
  const dueAtMs = result === "retry" ? nowMs + delayMs : nowMs;
  const isEnded = result !== "retry" && result !== "release";
  if (result === "retry") storage.saveQueued({ ...place, dueAtMs, attempts, lastError: error });
  if (isEnded) {
    storage.dequeue(place);
    const lastError = error ?? claim.lastError;
    // Nothing is written of one that was done at its first attempt.
    if (result !== "done" || attempts > 1 || lastError !== null) {
      const why = lastError === null ? {} : { lastError };
      const died = result === "dead" ? { diedAtMs: nowMs } : {};
      storage.changeDelivery(seq, { outcome: result === "done" ? null : result, attempts, ...why, ...died });
    }
  }
  const waiting = key.waiting - (isEnded ? 1 : 0);
  const suspects = Math.max(0, key.suspects - (isEnded ? 1 : 0));
  const left = key.claimed.filter((other) => other !== seq);
  const isFree = left.length === 0;
  const head = result === "done" && advance ? headAt(advance, nowMs) : null;
  const wakeAtMs = isFree ? (waiting === 1 ? dueAtMs : nowMs) : key.wakeAtMs;
  endLease(storage, key, { waiting, suspects, claimed: left, wakeAtMs }, head);
  return { result, hasMore: isFree && waiting > 0 };
}

const headAt = (
  { position, status }: Pick<inbox.InboxHeadAdvance, "position" | "status">,
  movedAtMs: number,
): Head => ({ position, status, movedAtMs });

/** The key of a lease; `undefined` when the worker has it no more. */
function leasedKey(storage: Storage, { keyId, worker, generation }: inbox.InboxLease): Key | undefined {
  const key = storage.readKey(keyId);
  return key?.worker === worker && key.generation === generation ? key : undefined;
}

/** The key of a claimed row that has not ended; `undefined` when its lease was lost. */
export function heldKey(storage: Storage, { lease, seq }: inbox.InboxClaim): Key | undefined {
  const key = leasedKey(storage, lease);
  return key?.claimed.includes(seq) ? key : undefined;
}

/** Makes a row that does not wait, and has its body, pending again. */
export function replayRow(
  storage: Storage,
  reference: inbox.InboxRowReference,
  columns: EventColumns,
  nowMs: number,
): boolean {
  const delivery = storage.findDelivery(reference);
  if (!delivery || delivery.outcome === "inline" || queuedOf(storage, delivery)) return false;
  const body = storage.readBodies([delivery.seq]).get(delivery.seq);
  if (!body) return false;
  const { event, orderKey, position, status, workspaceId } = columns;
  const replayed = { event, orderKey, position, status, workspaceId };
  const { seq, source, id, replays } = delivery;
  storage.changeDelivery(seq, {
    ...replayed,
    outcome: null,
    attempts: null,
    replays: replays + 1,
    replayedAtMs: nowMs,
    diedAtMs: null,
  });
  enqueue(storage, { ...replayed, seq, source, id }, body.byteLength, nowMs);
  return true;
}

/** The waiting row of a delivery. */
export function queuedOf(storage: Storage, delivery: Delivery): QueuedRow | undefined {
  if (delivery.outcome !== null) return undefined;
  const key = storage.findKey(delivery.source, keyNameOf(delivery));
  const place = { position: delivery.position ?? "", seq: delivery.seq };
  return key && storage.findQueued({ keyId: key.id, ...place });
}

export function discardRow(storage: Storage, reference: inbox.InboxRowReference): boolean {
  const delivery = storage.findDelivery(reference);
  if (delivery?.outcome !== "dead" && delivery?.outcome !== "quarantined") return false;
  storage.changeDelivery(delivery.seq, { outcome: "discarded" });
  return true;
}

export function beginInline(
  storage: Storage,
  { id, timestamp, body }: Pick<VerifiedWebhook, "id" | "timestamp" | "body">,
  { source, leaseMs }: { readonly source: string; readonly leaseMs: number },
  nowMs: number,
): inbox.InboxBeginInlineResult {
  const found = storage.findDelivery({ source, id });
  if (found && found.outcome !== "inline") return { state: "done" };
  const leaseUntilMs = nowMs + leaseMs;
  if (!found) {
    const delivery = { channel: "webhook", quarantine: null, secretIndex: null, traceparent: null } as const;
    const row = { ...emptyColumns, ...delivery, source, id, timestamp, body };
    const seq = storage.addDelivery(row, "inline", nowMs);
    if (seq !== undefined) storage.changeDelivery(seq, { leaseUntilMs, generation: 1 });
    return { state: "begun", generation: 1 };
  }
  const untilMs = found.leaseUntilMs ?? 0;
  // One that ends later than a lease lasts was begun before the clock was set back, and starts again.
  if (untilMs > leaseUntilMs) storage.changeDelivery(found.seq, { leaseUntilMs });
  if (untilMs > nowMs) return { state: "busy", retryAfterMs: Math.min(untilMs, leaseUntilMs) - nowMs };
  const generation = (found.generation ?? 0) + 1;
  storage.changeDelivery(found.seq, { leaseUntilMs, generation });
  return { state: "begun", generation };
}

export function finishInline(
  storage: Storage,
  id: string,
  { source, generation, outcome }: Parameters<inbox.InboxInlineStore["finishInline"]>[1],
): boolean {
  const found = storage.findDelivery({ source, id });
  if (found?.outcome !== "inline" || found.generation !== generation) return false;
  storage.changeDelivery(found.seq, { outcome: outcome === "done" ? null : "inline", leaseUntilMs: 0 });
  return true;
}

export function advanceHead(
  storage: Storage,
  { source, key: name, position }: Parameters<inbox.InboxInlineStore["advanceHead"]>[0],
  nowMs: number,
): "newer" | "same" | "stale" {
  const found = storage.findKey(source, name);
  const before = found?.position ?? null;
  if (before !== null && position <= before) return position === before ? "same" : "stale";
  const head = headAt({ position, status: null }, nowMs);
  if (found) storage.changeKey(found.id, head);
  else storage.addKey(source, name, { ...newKey, ...head });
  return "newer";
}

/** A key may be found for several reasons; the first counts, with a workspace if one is known. */
export function firstOfEachKey(candidates: inbox.ReconcileCandidate[]): readonly inbox.ReconcileCandidate[] {
  const order = ({ key, reason, workspaceId }: inbox.ReconcileCandidate) =>
    `${key}\0${reason}\0${workspaceId === null}`;
  return candidates
    .sort((a, b) => (order(a) < order(b) ? -1 : 1))
    .filter(({ key }, index, sorted) => key !== sorted[index - 1]?.key);
}

type Subscribe = NonNullable<inbox.InboxWorkQueue<unknown>["subscribe"]>;

/** Who is told, within this process, that rows may have become claimable. */
export function createSubscribers() {
  const wakes = new Map<symbol, Parameters<Subscribe>[0]>();
  const subscribe: Subscribe = async (wake) => {
    const name = Symbol("subscriber");
    wakes.set(name, wake);
    return async () => void wakes.delete(name);
  };
  const wake = (source: string) => {
    for (const each of wakes.values()) each(source);
  };
  return { subscribe, wake };
}
