import { parseDelivery } from "../event/parse-delivery.ts";
import type { InboxOperatorStore, InboxRowReference } from "../inbox/inbox.ts";

export type ReplayOutcome =
  | "replayed"
  | "not-found"
  /** Pending or running, its body was removed, or it still cannot be parsed as an event. */
  | "not-replayable";

/**
 * Makes a settled, dead or quarantined row pending again, under its own id, so that later duplicates are still
 * recognised. State handlers run if nothing newer was applied meanwhile.
 */
export async function replayRow(
  inbox: InboxOperatorStore,
  row: InboxRowReference,
  nowMs: number,
): Promise<ReplayOutcome> {
  const details = await inbox.get(row);
  if (!details) return "not-found";
  if (!details.body) return "not-replayable";
  const parsed =
    details.channel === "reconcile" ? { ok: true, columns: details } : parseDelivery(details.body, nowMs);
  return parsed.ok && (await inbox.replay(row, parsed.columns)) ? "replayed" : "not-replayable";
}
