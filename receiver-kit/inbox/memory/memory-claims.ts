// How keys are claimed and renewed in memory. The rules are those of the SQL inboxes.

import {
  type InboxClaim,
  type InboxClaimOptions,
  type InboxClaimResult,
  type InboxDeath,
  type InboxLease,
  leaseExpiredAfter,
  longestDelayMs,
} from "../inbox.ts";
import { recoveredDueAtMs } from "../recovered-row.ts";
import { firstWakeMs, type MemoryKey, type MemoryKeys } from "./memory-keys.ts";
import { type MemoryRow, toClaim } from "./memory-rows.ts";

export function claimRows(keys: MemoryKeys, options: InboxClaimOptions, nowMs: number): InboxClaimResult {
  const { source, rowsMax, bytesMax } = options;
  const due = keys.waiting(source).filter(({ wakeAtMs }) => isReached(wakeAtMs, options, nowMs));
  const claims: InboxClaim[] = [];
  const died: InboxDeath[] = [];
  let bytes = 0;
  let isFull = false;
  let recovered = 0;
  // A key that was recovered follows the others.
  for (const key of due.sort((a, b) => a.wakeAtMs - b.wakeAtMs || a.id - b.id)) {
    if (claims.length >= rowsMax || isFull) break;
    if (key.worker !== null) {
      died.push(...recoverKey(keys, key, recovered, options, nowMs));
      if (isReached(key.wakeAtMs, options, nowMs)) due.push(key);
      recovered += 1;
    } else {
      const taken: MemoryRow[] = [];
      const rows = firstDueRows(key, options, nowMs);
      for (const row of rows.slice(0, rowsMax - claims.length)) {
        bytes += row.body?.byteLength ?? 0;
        isFull = bytes > bytesMax && claims.length + taken.length > 0;
        if (isFull) break;
        taken.push(row);
      }
      if (rows.length === 0) keys.wakeAt(key, nextDueMs(key, options));
      else if (taken.length > 0) claims.push(...leaseKey(keys, key, taken, options, nowMs));
    }
  }
  const nextMs = isFull ? nowMs : firstWakeMs(keys.waiting(source));
  return { claims, died, nextInMs: nextMs === undefined ? null : Math.max(0, nextMs - nowMs) };
}

function leaseKey(
  keys: MemoryKeys,
  key: MemoryKey,
  rows: readonly MemoryRow[],
  { worker, leaseMs }: InboxClaimOptions,
  nowMs: number,
): readonly InboxClaim[] {
  key.generation += 1;
  Object.assign(key, { worker, leasedAtMs: nowMs, claimed: rows });
  keys.wakeAt(key, nowMs + leaseMs);
  const openRows = new Set(rows.map(({ seq }) => seq));
  const lease: InboxLease = { keyId: key.id, worker, generation: key.generation, openRows };
  for (const row of rows) row.state = "running";
  return rows.map((row) => toClaim(row, lease, key.head?.position ?? null));
}

/**
 * A key whose lease expired: the row that was being handled has an attempt more, or is dead after its last one.
 *
 * @param place among the keys that this claim recovers
 */
function recoverKey(
  keys: MemoryKeys,
  key: MemoryKey,
  place: number,
  { attemptsMax, retry }: InboxClaimOptions,
  nowMs: number,
): readonly InboxDeath[] {
  const { claimed } = key;
  const [handled] = claimed;
  for (const row of claimed) row.state = "pending";
  if (!handled) {
    keys.release(key, nowMs);
    return [];
  }
  handled.attempts += 1;
  const isDead = handled.attempts >= attemptsMax;
  handled.dueAtMs = recoveredDueAtMs({ attempts: handled.attempts, place, retry }, nowMs);
  key.suspects = claimed.length - (isDead ? 1 : 0);
  if (isDead) {
    keys.removeRow(key, handled);
    const lastError = leaseExpiredAfter(handled.lastError);
    Object.assign(handled, { state: "dead", dueAtMs: 0, lastError });
  }
  keys.release(key, key.waiting.length > 1 || isDead ? nowMs : Math.max(nowMs, handled.dueAtMs));
  if (!isDead) return [];
  return [{ source: handled.source, id: handled.id, error: handled.lastError ?? "" }];
}

/** Returns the leases that are still held. */
export function renewLeases(
  keys: MemoryKeys,
  leases: readonly InboxLease[],
  leaseMs: number,
  nowMs: number,
): ReadonlySet<InboxLease> {
  const held = new Set<InboxLease>();
  for (const lease of leases) {
    const key = keys.leased(lease);
    if (!key) continue;
    key.leasedAtMs = nowMs;
    keys.wakeAt(key, nowMs + leaseMs);
    held.add(lease);
  }
  return held;
}

/** The rows of a key that may be claimed now. */
function firstDueRows(
  { waiting, suspects }: MemoryKey,
  options: InboxClaimOptions,
  nowMs: number,
): readonly MemoryRow[] {
  const rowsMax = suspects > 0 ? 1 : options.rowsPerKeyMax;
  const due: MemoryRow[] = [];
  for (const row of waiting) {
    if (isReached(row.dueAtMs, options, nowMs)) due.push(row);
    else if (options.keyOrder === "strict") break;
    if (due.length === rowsMax) break;
  }
  return due;
}

/** Of a key without a row that may be claimed now. */
function nextDueMs({ waiting }: MemoryKey, { keyOrder }: Pick<InboxClaimOptions, "keyOrder">): number {
  const rows = keyOrder === "strict" ? waiting.slice(0, 1) : waiting;
  return rows.reduce((next, { dueAtMs }) => Math.min(next, dueAtMs), Number.POSITIVE_INFINITY);
}

const isReached = (atMs: number, options: InboxClaimOptions, nowMs: number): boolean =>
  atMs <= nowMs || atMs > nowMs + longestDelayMs(options);
