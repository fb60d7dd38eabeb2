import { parseDelivery } from "../event/parse-delivery.ts";
import type { InboxOperatorStore, InboxRowReference } from "../inbox/inbox.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { includesSource, splitSource } from "../signature/tenant.ts";

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
  const ofTenant = splitSource(row.source).tenant !== undefined;
  const parsed =
    details.channel === "reconcile"
      ? { ok: true, columns: details }
      : parseDelivery(details.body, nowMs, ofTenant);
  return parsed.ok && (await inbox.replay(row, parsed.columns)) ? "replayed" : "not-replayable";
}

export type DiscardOutcome =
  | "discarded"
  | "not-found"
  /** Neither dead nor quarantined. */
  | "not-discardable";

/** Ends a dead or quarantined row, which is then removed by age like the others. */
export async function discardRow(inbox: InboxOperatorStore, row: InboxRowReference): Promise<DiscardOutcome> {
  if (await inbox.discard(row)) return "discarded";
  return (await inbox.get(row)) ? "not-discardable" : "not-found";
}

// Quarantined rows become readable by themselves: after an upgrade, which knows more events, and when the time comes that
// an event named too early. So they are parsed again at the start of a receiver and every hour.
type Settings = Pick<ReceiverSettings, "inbox" | "source" | "secrets" | "clock" | "logger">;

/**
 * Makes those of at most `rowsMax` quarantined rows pending that can be parsed now; newest first, below `beforeSeq`. Returns
 * where to continue, `undefined` at the end.
 */
export async function replayReadable(
  settings: Settings,
  { beforeSeq, rowsMax }: { readonly beforeSeq: number | undefined; readonly rowsMax: number },
): Promise<number | undefined> {
  const { inbox, source: own, secrets, clock, logger } = settings;
  // Each tenant has a source of its own.
  const ofTenants = isTenantSecrets(secrets);
  const filter = ofTenants ? {} : { source: own };
  const rows = await inbox.list({ ...filter, states: ["quarantined"], beforeSeq, limit: rowsMax });
  for (const { source, id } of rows.filter((row) => includesSource(own, row.source))) {
    const outcome = await replayRow(inbox, { source, id }, clock.now());
    if (outcome === "replayed")
      logger.info({ source, id }, "a quarantined event can be read now and is handled");
  }
  return rows.length < rowsMax ? undefined : rows.at(-1)?.seq;
}
