// Quarantined rows become readable by themselves: after an upgrade, which knows more events, and when the time comes that
// an event named too early. So they are parsed again at the start of a receiver and every hour.

import type { ReceiverSettings } from "../receiver-options.ts";
import { isTenantSecrets } from "../signature/key-source.ts";
import { includesSource } from "../signature/tenant-source.ts";
import { replayRow } from "./replay.ts";

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
