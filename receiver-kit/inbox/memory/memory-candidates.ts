import type { InboxMaintenanceStore, ReconcileCandidate } from "../inbox.ts";
import type { MemoryKeys } from "./memory-keys.ts";
import type { MemoryRow } from "./memory-rows.ts";

type Options = Parameters<InboxMaintenanceStore["reconcileCandidates"]>[0];

/** A time in the future was stored before the clock was set back, and says nothing about age. */
export function reconcileCandidates(
  rows: Iterable<MemoryRow>,
  keys: MemoryKeys,
  { source, runningForMs, afterKey, limit }: Options,
  nowMs: number,
): readonly ReconcileCandidate[] {
  const candidates: ReconcileCandidate[] = [];
  for (const { source: stored, state, orderKey: key, position, receivedAtMs, workspaceId } of rows) {
    if (stored !== source || key === null || (state !== "dead" && state !== "quarantined")) continue;
    const head = keys.get({ source, key })?.head;
    const isCovered =
      state === "dead"
        ? head && position !== null && head.position >= position
        : head && head.movedAtMs >= receivedAtMs && head.movedAtMs <= nowMs;
    if (!isCovered) candidates.push({ key, reason: state, workspaceId });
  }
  for (const { key, status, movedAtMs, workspaceId } of keys.heads(source)) {
    const isLong = movedAtMs <= nowMs - runningForMs || movedAtMs > nowMs;
    if (status === "RUNNING" && isLong) candidates.push({ key, reason: "running-too-long", workspaceId });
  }
  return candidates
    .filter(({ key }) => key > afterKey)
    .sort(byKeyAndReason)
    .filter(({ key }, index, sorted) => key !== sorted[index - 1]?.key)
    .slice(0, limit);
}

/** A key may be found for several reasons; the first counts, with a workspace if one is known. */
function byKeyAndReason(a: ReconcileCandidate, b: ReconcileCandidate): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  if (a.reason !== b.reason) return a.reason < b.reason ? -1 : 1;
  return Number(a.workspaceId === null) - Number(b.workspaceId === null);
}
