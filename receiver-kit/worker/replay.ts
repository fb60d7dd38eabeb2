import { parseDelivery } from "../event/parse-delivery.ts";
import type { Inbox, RowReference } from "../inbox/inbox.ts";

export type ReplayOutcome =
  | "replayed"
  | "not-found"
  /** Waiting or running already, its body is gone, or it still cannot be read as an event. */
  | "not-replayable";

/**
 * Makes a settled, dead or quarantined row pending again, under its own id, so that later repetitions by the sender
 * are still known. State handlers run if nothing newer was applied meanwhile.
 */
export async function replayRow(inbox: Inbox, row: RowReference, nowMs: number): Promise<ReplayOutcome> {
  const details = await inbox.get(row);
  if (!details) return "not-found";
  if (!details.body) return "not-replayable";
  if (details.channel === "reconcile") {
    const { event, orderKey, position, status } = details;
    return (await inbox.replay(row, { event, orderKey, position, status })) ? "replayed" : "not-replayable";
  }
  const parsed = parseDelivery(details.body, nowMs);
  if (!parsed.ok) return "not-replayable";
  return (await inbox.replay(row, parsed.columns)) ? "replayed" : "not-replayable";
}
